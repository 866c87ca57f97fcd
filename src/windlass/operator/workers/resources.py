"""What a worker may use, as its pod says."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from windlass.api.node_set import NodeSet
from windlass.operator.workers import words
from windlass.values.quantity import Quantity

COUNTED: Final = ("cpu", "memory")
GPU: Final = "nvidia.com/gpu"
"""The GPUs that every slurmd finds by itself; for others it needs the libraries of their makers."""


def limits_env(node_set: NodeSet) -> list[dict[str, str]]:
    """The limits for the image's start: whole CPUs and MiB, 0 where there is no limit."""
    limits = _limits(node_set)
    return [
        {"name": "POD_CPUS", "value": str(_amount(limits, "cpu").cores)},
        {"name": "POD_MEMORY", "value": str(_amount(limits, "memory").mebibytes)},
    ]


def gpus(node_set: NodeSet) -> int:
    """How many GPUs its workers get from Kubernetes."""
    return _amount(_limits(node_set), GPU).cores


def best_effort(pod_spec: Mapping[str, Any]) -> bool:
    """Whether nothing is asked for at all.

    Then the kernel thinks no more of slurmd and slurmstepd than of a greedy task, and takes
    whichever it likes when the node's memory runs out.
    """
    return not any(
        resource in (each.get(kind) or {})
        for each in _resources(pod_spec)
        for kind in ("limits", "requests")
        for resource in COUNTED
    )


def _limits(node_set: NodeSet) -> dict[str, Any]:
    """The container's own limits count before those of the whole pod."""
    pod = node_set.spec.template.spec or {}
    templated = [
        container
        for container in pod.get("containers") or ()
        if container.get("name") == words.CONTAINER
    ]
    found: dict[str, Any] = {}
    for holder in (pod, node_set.spec.slurmd or {}, *templated):
        found.update((holder.get("resources") or {}).get("limits") or {})
    return found


def _amount(limits: Mapping[str, Any], resource: str) -> Quantity:
    written = limits.get(resource) or 0
    return Quantity.parse(written if isinstance(written, int) else str(written))


def _resources(pod_spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield pod_spec.get("resources") or {}
    for kind in ("containers", "initContainers"):
        for container in pod_spec.get(kind) or ():
            yield container.get("resources") or {}
