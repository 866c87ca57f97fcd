"""Pods of other schedulers that are on nodes: what they take there is not Slurm's to give."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from windlass.api import labels
from windlass.bridge.slices import Inventory
from windlass.kube.meta import Meta, Part, Quantity
from windlass.kube.objects import Container, Resources

STANDING: Final = frozenset({"DaemonSet", "Node"})
"""Owners of pods that belong to their node; a Node owns the static ones."""
SLURMD: Final = "slurmd"
WORKER: Final = "worker"
ON_EVERY_HOST: Final = "DaemonSet"


class NeighbourSpec(Part, frozen=True, gc=False):
    """Only what is counted."""

    node_name: str = ""
    hostname: str = ""
    host_network: bool = False
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


def worker(pod: Neighbour) -> str:
    """What Slurm calls the slurmd that a pod runs; empty for any other pod."""
    said = pod.metadata.labels or {}
    if said.get(labels.NAME) != SLURMD or said.get(labels.COMPONENT) != WORKER:
        return ""
    if pod.spec.host_network and said.get(labels.SCALING_MODE) != ON_EVERY_HOST:
        return pod.spec.node_name.partition(".")[0]
    return pod.spec.hostname or said.get(labels.POD_HOSTNAME) or pod.metadata.name


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What there is on nodes of Kubernetes besides our pods."""

    workers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By node: what Slurm calls the slurmds that run there."""
    taken: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By node: what pods take that belong to it, in billionths."""
    devices: Mapping[str, Inventory] = field(default_factory=dict)
    """By node: what drivers publish."""


def workers(pods: Iterable[Neighbour]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for pod in pods:
        if name := worker(pod):
            found[pod.spec.node_name] = (*found.get(pod.spec.node_name, ()), name)
    return found
