"""The record of a cluster: written before the machine is touched, so that nothing is forgotten."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from ipaddress import IPv4Network
from pathlib import Path

import msgspec

from windlass.local.addresses import MOST_NODES, Addresses
from windlass.local.errors import LocalError
from windlass.local.layout import fingerprint

CONTROL_PLANE = "control-plane"
"""Its cgroup stands beside those of the nodes, so no node can have this name."""
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?")


class NodeRecord(msgspec.Struct, frozen=True):
    """A node that should be there; its index gives its addresses."""

    name: str
    index: int


class ClusterRecord(msgspec.Struct, frozen=True):
    """What a cluster is meant to be."""

    name: str
    block: str
    nodes: tuple[NodeRecord, ...] = ()
    images: tuple[str, ...] = ()
    """Images that every node gets, beyond those of the add-ons."""

    @property
    def addresses(self) -> Addresses:
        return Addresses(IPv4Network(self.block))

    def node(self, name: str) -> NodeRecord:
        for node in self.nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self.nodes) or "none"
        raise LocalError(f"cluster {self.name} has no node {name}; its nodes: {known}")

    def new_node(self, name: str | None = None) -> NodeRecord:
        """A node that this cluster can still take, named after the cluster unless it has a name."""
        if len(self.nodes) >= MOST_NODES:
            raise LocalError(f"cluster {self.name} has {MOST_NODES} nodes; more are not possible")
        index = self.free_index()
        name = check_name(name or f"{self.name}-{index}", "node name")
        if name == CONTROL_PLANE:
            raise LocalError(f"node name {name} is taken by the control plane; choose another")
        if any(node.name == name for node in self.nodes):
            raise LocalError(f"cluster {self.name} has a node {name} already")
        return NodeRecord(name, index)

    def with_nodes(self, nodes: Iterable[NodeRecord]) -> "ClusterRecord":
        return msgspec.structs.replace(self, nodes=tuple(nodes))

    def with_images(self, images: Iterable[str]) -> "ClusterRecord":
        return msgspec.structs.replace(self, images=tuple(images))

    def free_index(self) -> int:
        used = {node.index for node in self.nodes}
        return next(index for index in range(1, len(used) + 2) if index not in used)


def check_name(name: str, what: str) -> str:
    """Names end up in host names, paths and cgroups; say so before anything is made."""
    if not _NAME.fullmatch(name):
        raise LocalError(
            f"{what} {name!r} will not do: use 1 to 30 of a-z, 0-9 and -, "
            "beginning with a letter and not ending with -"
        )
    return name


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """The files of one cluster below the user's state folder."""

    state: Path
    name: str

    @property
    def path(self) -> Path:
        return self.state / "local" / self.name

    @property
    def record_file(self) -> Path:
        return self.path / "cluster.json"

    @property
    def pki(self) -> Path:
        return self.path / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.pki / "admin.conf"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def volumes(self) -> Path:
        return self.path / "volumes"

    @property
    def link_prefix(self) -> str:
        """The bridge's name and the beginning of every other link's; Linux allows 15 letters."""
        return f"wl{fingerprint(self.name)[:7]}"

    @property
    def cgroup(self) -> str:
        return f"windlass/{self.name}"

    def node(self, name: str) -> Path:
        return self.path / "nodes" / name

    def read(self) -> ClusterRecord | None:
        """The record, or None where there is no cluster or only an unreadable rest of one."""
        try:
            return msgspec.json.decode(self.record_file.read_bytes(), type=ClusterRecord)
        except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
            return None

    def require(self) -> ClusterRecord:
        record = self.read()
        if record is None:
            raise LocalError(
                f"there is no local cluster {self.name}; "
                f"`windlass local up --name {self.name}` makes one"
            )
        return record

    def write(self, record: ClusterRecord) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        half = self.record_file.with_suffix(".half")
        half.write_bytes(msgspec.json.format(msgspec.json.encode(record)))
        half.replace(self.record_file)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the cluster for one verb; the kernel lets go when we die."""
        file = self.state / "local" / f"{self.name}.lock"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w") as lock:
            try:
                flock(lock, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                raise LocalError(
                    f"another windlass is at work on cluster {self.name}; wait for it to end"
                ) from None
            try:
                yield
            finally:
                if not self.path.exists():
                    file.unlink(missing_ok=True)
                flock(lock, LOCK_UN)


def clusters(state: Path) -> list[ClusterFolder]:
    """Every cluster that has a folder, whole or not."""
    top = state / "local"
    if not top.is_dir():
        return []
    return [ClusterFolder(state, path.name) for path in sorted(top.iterdir()) if path.is_dir()]
