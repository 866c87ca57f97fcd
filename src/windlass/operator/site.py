"""What the operator was told of the cluster that it runs in."""

from dataclasses import dataclass, field

from windlass.operator.images import Images


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    images: Images = field(default_factory=Images)
    domain: str = "cluster.local"
    """The DNS domain of its Services."""
    propagated_node_conditions: tuple[str, ...] = ()
    """Conditions of Kubernetes nodes whose message becomes the reason of a Slurm drain."""
    drain_node_conditions: tuple[str, ...] = ()
    """Conditions of Kubernetes nodes that drain their Slurm nodes while they are true; `Ready`
    drains while it is not."""
    drain_node_taints: tuple[str, ...] = ()
    """Keys of taints that do the same."""
    topology_from_labels: str = ""
    """How the labels of a Kubernetes node tell where it is; see placing.py."""
    starting_workers: int = 1000
    """The most workers of a NodeSet that start at the same time."""
