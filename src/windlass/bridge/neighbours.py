"""Pods of other schedulers that are on nodes: what they take there is not Slurm's to give."""

from typing import Final

from windlass.kube.meta import Meta, Part, Quantity
from windlass.kube.objects import Container, Resources

STANDING: Final = frozenset({"DaemonSet", "Node"})
"""Owners of pods that belong to their node; a Node owns the static ones."""


class NeighbourSpec(Part, frozen=True, gc=False):
    """Only what is counted."""

    node_name: str = ""
    hostname: str = ""
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resources: Resources | None = None
    overhead: dict[str, Quantity] | None = None


class NeighbourStatus(Part, frozen=True, gc=False):
    phase: str = ""


class Neighbour(Part, frozen=True, gc=False):
    metadata: Meta
    spec: NeighbourSpec = NeighbourSpec()
    status: NeighbourStatus = NeighbourStatus()


def selection(scheduler: str) -> str:
    """The fields by which the API server finds them."""
    return (
        f"spec.schedulerName!={scheduler},spec.nodeName!=,"
        "status.phase!=Succeeded,status.phase!=Failed"
    )


def stands(pod: Neighbour) -> bool:
    """Whether it will be there again when it has gone."""
    return any(each.kind in STANDING for each in pod.metadata.owner_references or ())
