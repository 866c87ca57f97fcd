"""One node: a machine of its own in namespaces, started, killed and entered."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from windlass.local.cgroups import Cgroups
from windlass.local.daemons import Daemon, alive
from windlass.local.errors import LocalError
from windlass.local.making import remove
from windlass.local.network import Network, links
from windlass.local.node_files import NodePlan, files, resolv_conf
from windlass.local.pki import Authority, node_subject
from windlass.local.process import children
from windlass.local.record import ClusterFolder, NodeRecord
from windlass.local.waiting import wait_for

BOOT = Path(__file__).with_name("boot.sh")
_NAMESPACES = ("--mount", "--pid", "--uts", "--ipc", "--net")


@dataclass(frozen=True, slots=True)
class NodeParts:
    """What every node of a cluster is made from."""

    lower: Path
    """The Debian root file system that all nodes share, read-only."""
    programs: Path
    """The folder with kubelet and kube-proxy."""
    images: Path
    pause_reference: str
    pause_archive: Path


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a cluster, running or not."""

    record: NodeRecord
    folder: ClusterFolder
    network: Network
    cgroups: Cgroups

    @property
    def name(self) -> str:
        return self.record.name

    @property
    def path(self) -> Path:
        return self.folder.node(self.name)

    @property
    def cgroup(self) -> str:
        return f"{self.folder.cgroup}/{self.name}"

    @property
    def logs(self) -> Path:
        return self.folder.logs / self.name

    @property
    def mark(self) -> Path:
        return self.path / "process.json"

    def init(self) -> int | None:
        """The number, on the host, of the node's first process."""
        outer = alive(self.mark)
        inner = children(outer.pid) if outer else []
        return inner[0] if inner else None

    def healthy(self) -> bool:
        """Whether it runs and its cable is in; without one it must be started anew."""
        return self.init() is not None and self.network.link(self.record) in links()

    def start(self, parts: NodeParts, authority: Authority, server: str) -> None:
        """Switch the node on; what is on its disk from an earlier life is still there."""
        self._clear()
        self._write_files(parts, authority, server)
        self.cgroups.make(f"{self.cgroup}/system")
        with self._daemon(parts).start() as go:
            outer = wait_for(lambda: alive(self.mark), f"{self.name} starts", within=5)
            own = Path("/proc/self/ns/net").readlink()
            wait_for(
                lambda: _namespace(outer.pid) not in (None, own),
                f"{self.name} has a network of its own",
                within=10,
                every=0.01,
            )
            self.network.plug(self.record, outer.pid)
            go.write(b"go\n")

    def kill(self) -> None:
        """Cut the power: every process ends at once and nobody is told."""
        self.cgroups.kill(self.cgroup)
        self.network.unplug(self.record)
        self.cgroups.remove(self.cgroup)

    def remove(self) -> None:
        self.kill()
        for path in (self.path, self.logs):
            remove(path)

    def enter(self, *words: str) -> list[str]:
        """The command line that runs a program inside the node."""
        init = self.init()
        if init is None:
            raise LocalError(
                f"node {self.name} is not running; "
                f"`windlass local node start {self.name} --name {self.folder.name}` starts it"
            )
        namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd=/"]
        path = (
            "PATH=/windlass/programs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        )
        inside = ["env", "-i", path, "HOME=/root", "TERM=xterm", *words]
        return ["nsenter", "-t", str(init), *namespaces, "--", *inside]

    def _clear(self) -> None:
        """Remove what a dead earlier life left behind: processes, link, route and cgroups."""
        if self.cgroups.remains(self.cgroup):
            self.kill()

    def _write_files(self, parts: NodeParts, authority: Authority, server: str) -> None:
        config = self.path / "config"
        own = [self.path / name for name in ("upper", "work", "root", "var", "config/cni")]
        for folder in (*own, self.logs, self.folder.volumes):
            folder.mkdir(parents=True, exist_ok=True)
        for name, content in files(self._plan(parts)).items():
            (config / name).write_text(content)
        self._write_credentials(config, authority, server)

    def _plan(self, parts: NodeParts) -> NodePlan:
        addresses, index = self.network.addresses, self.record.index
        return NodePlan(
            name=self.name,
            address=addresses.node(index),
            pods=addresses.pods_of(index),
            cluster_pods=addresses.pods,
            dns=addresses.dns_service,
            cgroup=self.cgroup,
            pause_image=parts.pause_reference,
            resolv_conf=resolv_conf(_host_resolv_conf(), addresses.gateway),
        )

    def _write_credentials(self, config: Path, authority: Authority, server: str) -> None:
        address = self.network.addresses.node(self.record.index)
        authority.ensure([node_subject(self.name, address)])
        own = authority.write_kubeconfig(self.name, server, self.folder.name)
        shutil.copy(own, config / "kubelet.conf")
        shutil.copy(authority.folder / "proxy.conf", config / "kube-proxy.conf")
        shutil.copy(authority.folder / "ca.crt", config / "ca.crt")
        shutil.copy(authority.certificate(self.name), config / "kubelet.crt")
        shutil.copy(authority.key(self.name), config / "kubelet.key")

    def _daemon(self, parts: NodeParts) -> Daemon:
        unshare = ("unshare", *_NAMESPACES, "--fork", "--kill-child=KILL", "--propagation=private")
        return Daemon(
            name=self.name,
            argv=(*unshare, "bash", str(BOOT)),
            mark=self.mark,
            log=self.logs / "boot.log",
            cgroup_entry=self.cgroups.entry(f"{self.cgroup}/system"),
            env={
                "NODE_NAME": self.name,
                "NODE_DIR": str(self.path),
                "NODE_LOWER": str(parts.lower),
                "NODE_CONFIG": str(self.path / "config"),
                "NODE_PROGRAMS": str(parts.programs),
                "NODE_IMAGES": str(parts.images),
                "NODE_VOLUMES": str(self.folder.volumes),
                "NODE_LOGS": str(self.logs),
                "PAUSE_ARCHIVE": parts.pause_archive.name,
            },
        )


def _namespace(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/ns/net").readlink()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _host_resolv_conf() -> str:
    """The real name servers; systemd-resolved keeps them apart from its own stub."""
    for path in (Path("/run/systemd/resolve/resolv.conf"), Path("/etc/resolv.conf")):
        if path.exists():
            return path.read_text()
    return ""
