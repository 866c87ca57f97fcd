"""What of a cluster runs, seen from the host and from Kubernetes."""

from dataclasses import dataclass

from windlass.local import masters
from windlass.local.cluster import Cluster, ready_nodes


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A node: whether its processes run, and whether Kubernetes calls it Ready."""

    name: str
    address: str
    running: bool
    ready: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at a cluster."""

    name: str
    server: str
    block: str
    kubeconfig: str
    components: dict[str, bool]
    nodes: tuple[NodeSeen, ...]

    @property
    def well(self) -> bool:
        return all(self.components.values()) and all(n.running and n.ready for n in self.nodes)


def observe(cluster: Cluster) -> Seen:
    record = cluster.folder.require()
    components = masters.running(cluster.folder.path)
    ready = ready_nodes(cluster.kubectl) if components["kube-apiserver"] else set()
    return Seen(
        name=cluster.name,
        server=f"https://{record.addresses.gateway}:6443",
        block=record.block,
        kubeconfig=str(cluster.folder.kubeconfig),
        components=components,
        nodes=tuple(
            NodeSeen(
                name=node.name,
                address=str(record.addresses.node(node.record.index)),
                running=node.init() is not None,
                ready=node.name in ready,
            )
            for node in cluster.nodes()
        ),
    )


def table(seen: Seen) -> str:
    """The status as a person reads it."""
    head = [
        f"cluster     {seen.name}",
        f"server      {seen.server}",
        f"addresses   {seen.block}",
        f"kubeconfig  {seen.kubeconfig}",
        "",
    ]
    components = [f"{name:<26}{_word(up, 'running')}" for name, up in seen.components.items()]
    nodes = [f"{node.name:<26}{_node_word(node):<12}{node.address}" for node in seen.nodes]
    return "\n".join([*head, *components, "", *nodes])


def _word(up: bool, word: str) -> str:  # noqa: FBT001 - a word for a fact
    return word if up else "DOWN"


def _node_word(node: NodeSeen) -> str:
    if not node.running:
        return "DOWN"
    return "Ready" if node.ready else "NOT READY"
