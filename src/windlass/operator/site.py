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
