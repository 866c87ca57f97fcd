"""A local cluster as a whole: up, down, and what is in between."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from windlass.local import addons, addresses, network, parts, requirements, sysctls
from windlass.local.binaries import ensure as ensure_binaries
from windlass.local.cgroups import Cgroups, find_cgroups
from windlass.local.control_plane import Place
from windlass.local.errors import CommandFailed, LocalError
from windlass.local.images import Image
from windlass.local.kubectl import Kubectl
from windlass.local.layout import Folders
from windlass.local.loading import load_images
from windlass.local.masters import Masters
from windlass.local.network import Network
from windlass.local.node import Node
from windlass.local.parts import Parts
from windlass.local.pki import Authority
from windlass.local.progress import Display
from windlass.local.record import (
    CONTROL_PLANE,
    ClusterFolder,
    ClusterRecord,
    NodeRecord,
    check_name,
    clusters,
)
from windlass.local.remains import clear
from windlass.local.waiting import wait_for

LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
DEFAULT_NAME = "windlass"
DEFAULT_NODES = 2


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster of this machine, by name."""

    folders: Folders
    name: str
    display: Display
    now: Callable[[], datetime]

    @property
    def folder(self) -> ClusterFolder:
        return ClusterFolder(self.folders.state, check_name(self.name, "cluster name"))

    @property
    def cgroups(self) -> Cgroups:
        return find_cgroups(Path("/proc/self/mounts").read_text())

    @property
    def kubectl(self) -> Kubectl:
        self.folder.require()
        programs = ensure_binaries(("kubernetes",), self.folders.cache, self.display)
        return Kubectl(programs["kubectl"], self.folder.kubeconfig)

    def up(self, nodes: int | None = None) -> None:
        """Bring the cluster to what it should be, from nothing or from whatever is left of it."""
        requirements.check(requirements.this_machine())
        requirements.check_network()
        with self.folder.locked():
            record = self._recorded(nodes)
            self._check_addresses(record)
            made = parts.ensure(self.folders.cache, self.display, record.images)
            sysctls.remember(self._sysctls)
            sysctls.forward()
            self._network(record).up()
            masters = self._masters(record, made)
            with self.display.step("control plane"):
                masters.write_credentials()
                masters.start_api()
                masters.start_controllers()
                masters.kubectl.apply(addons.rights())
            with self.display.step(f"nodes: {', '.join(n.name for n in record.nodes)}"):
                self._start_nodes(record, made, record.nodes)
            with self.display.step("add-ons: DNS, volumes"):
                masters.kubectl.apply(self._addons(record, made))
                addons.wait_until_available(masters.kubectl, 120)

    def down(self) -> None:
        """Take everything away, also what a killed `up` or a dead cluster left behind."""
        requirements.check_root(requirements.this_machine())
        with self.folder.locked(), self.display.step(f"down: {self.name}"):
            clear(self.folder, self.cgroups)
        if not clusters(self.folders.state):
            sysctls.restore(self._sysctls)

    def node(self, name: str) -> Node:
        record = self.folder.require()
        return self._node(record, record.node(name))

    def nodes(self) -> list[Node]:
        record = self.folder.require()
        return [self._node(record, node) for node in record.nodes]

    def add_node(self, name: str | None) -> str:
        with self.folder.locked():
            record = self.folder.require()
            node = record.new_node(name)
            record = record.with_nodes((*record.nodes, node))
            self.folder.write(record)
            self._bring_up(record, node)
        return node.name

    def start_node(self, name: str) -> None:
        with self.folder.locked():
            record = self.folder.require()
            self._bring_up(record, record.node(name))

    def kill_node(self, name: str) -> None:
        with self.folder.locked(), self.display.step(f"power cut: {name}"):
            self.node(name).kill()

    def remove_node(self, name: str) -> None:
        with self.folder.locked(), self.display.step(f"remove node {name}"):
            record = self.folder.require()
            gone = record.node(name)
            self._node(record, gone).remove()
            self.kubectl("delete", "node", name, "--ignore-not-found")
            self.folder.write(record.with_nodes(n for n in record.nodes if n != gone))

    def load_image(self, name: str) -> Image:
        """Build the image if need be, put it on every running node and on all that come later."""
        with self.folder.locked():
            record = self.folder.require()
            image = parts.image(name, self.folders.cache, self.display)
            if image.name not in record.images:
                self.folder.write(record.with_images((*record.images, image.name)))
            running = [node for node in self.nodes() if node.init() is not None]
            with self.display.step(f"load {image.reference} on {len(running)} nodes"):
                in_parallel(lambda node: load_images(node, [image]), running)
        return image

    def _recorded(self, nodes: int | None) -> ClusterRecord:
        """The record as it should be, written before anything is made."""
        record = self.folder.read() or self._new_record()
        wanted = len(record.nodes) or DEFAULT_NODES if nodes is None else nodes
        if wanted < len(record.nodes):
            raise LocalError(
                f"cluster {self.name} has {len(record.nodes)} nodes and --nodes says {wanted}; "
                "`windlass local node remove NAME` takes one away"
            )
        if not 1 <= wanted <= addresses.MOST_NODES:
            raise LocalError(
                f"--nodes {wanted}: from 1 to {addresses.MOST_NODES} nodes are possible"
            )
        while len(record.nodes) < wanted:
            record = record.with_nodes((*record.nodes, record.new_node()))
        self.folder.write(record)
        return record

    def _new_record(self) -> ClusterRecord:
        clear(self.folder, self.cgroups)
        others = [other.read() for other in clusters(self.folders.state)]
        taken = [other.addresses.block for other in others if other]
        chosen = addresses.choose([*network.routed_networks(), *taken])
        return ClusterRecord(self.name, str(chosen.block))

    def _check_addresses(self, record: ClusterRecord) -> None:
        """A network that came up while the cluster was down may have taken its addresses."""
        own = self.folder.link_prefix
        block = record.addresses.block
        others = [
            other for other in network.routed_networks(except_for=own) if block.overlaps(other)
        ]
        if others:
            raise LocalError(
                f"cluster {self.name} uses {block}, which this machine now routes elsewhere "
                f"({others[0]}); `windlass local down --name {self.name}` and `up` move it"
            )

    def _bring_up(self, record: ClusterRecord, node: NodeRecord) -> None:
        made = parts.ensure(self.folders.cache, self.display, record.images)
        with self.display.step(f"node {node.name}"):
            self._start_nodes(record, made, [node])

    def _start_nodes(
        self, record: ClusterRecord, made: Parts, records: Sequence[NodeRecord]
    ) -> None:
        """Switch on what is off, and wait until every node has said by itself that it is ready."""
        masters = self._masters(record, made)
        began = self.now().replace(microsecond=0)
        said_since = {}

        def start(node: Node) -> None:
            if not node.healthy():
                node.start(made.node, masters.authority, masters.place.server)
                said_since[node.name] = began
            load_images(node, made.sent_to_nodes)

        nodes = [self._node(record, each) for each in records]
        in_parallel(start, nodes)
        for node in nodes:
            wait_ready(masters.kubectl, node.name, said_since.get(node.name, LONG_AGO))

    def _node(self, record: ClusterRecord, node: NodeRecord) -> Node:
        return Node(node, self.folder, self._network(record), self.cgroups)

    def _network(self, record: ClusterRecord) -> Network:
        return Network(self.folder.link_prefix, record.addresses)

    def _masters(self, record: ClusterRecord, made: Parts) -> Masters:
        cgroup = f"{self.folder.cgroup}/{CONTROL_PLANE}"
        self.cgroups.make(cgroup)
        return Masters(
            place=Place(self.folder.pki, self.folder.path, str(record.addresses.gateway)),
            addresses=record.addresses,
            authority=Authority(self.folder.pki, self.now()),
            programs=made.programs,
            logs=self.folder.logs,
            cgroup_entry=self.cgroups.entry(cgroup),
            cluster=self.name,
        )

    def _addons(self, record: ClusterRecord, made: Parts) -> str:
        references = {name: image.reference for name, image in made.images.items()}
        return addons.manifest(record.addresses, references)

    @property
    def _sysctls(self) -> Path:
        return self.folders.state / "local" / "sysctls.json"


def in_parallel(work: Callable[[Node], None], nodes: Iterable[Node]) -> None:
    """Do the same on every node at once; the first failure is raised when all have ended."""
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, node) for node in nodes]:
            done.result()


def wait_ready(kubectl: Kubectl, name: str, since: datetime) -> None:
    """Wait for a node to be Ready by a word of its own, spoken after `since`.

    Until Kubernetes misses a node that was killed, it still calls it Ready.
    """
    wait_for(lambda: name in ready_nodes(kubectl, since), f"{name} Ready", within=120, every=0.3)


def ready_nodes(kubectl: Kubectl, since: datetime = LONG_AGO) -> set[str]:
    """The nodes that are Ready; none while the API server is silent."""
    try:
        nodes = kubectl.get("nodes")["items"]
    except CommandFailed:
        return set()
    return {node["metadata"]["name"] for node in nodes if _ready(node, since)}


def _ready(node: Any, since: datetime) -> bool:
    return any(
        condition["type"] == "Ready"
        and condition["status"] == "True"
        and datetime.fromisoformat(condition["lastHeartbeatTime"]) >= since
        for condition in node["status"].get("conditions", [])
    )
