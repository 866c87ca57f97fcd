"""The least that the same work costs on the same servers."""

import time
from dataclasses import dataclass
from typing import Any, Final

from bench.workers import manifests
from bench.workers.bare import creating, deleting
from bench.workers.stage import Stage
from bench.workers.watching import until, watching
from windlass.slurm import NodeUpdate
from windlass.slurm import requests as slurm_requests

NAMESPACE: Final = "floor"
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"


@dataclass(frozen=True, slots=True)
class Floors:
    """Seconds."""

    created: float
    """Until the last pod is made."""
    ready: float
    """Until the last of them is ready."""
    deleted: float
    """Until half of them are gone."""


async def measure(stage: Stage, pod: dict[str, Any]) -> Floors:
    size, half = stage.size, stage.size // 2
    names = [f"f-{number}" for number in range(size)]
    stage.kubectl_create(*manifests.namespace(NAMESPACE))
    making = creating(PODS, (manifests.like(pod, name, NAMESPACE) for name in names))
    async with watching(stage.kube, NAMESPACE) as seen:
        began = time.monotonic()
        await stage.bare.send(making)
        created = time.monotonic() - began
        all_ready = lambda: seen.pods.number("Ready") == size  # noqa: E731
        ready = await until(all_ready, f"{size} bare pods are ready", stage.patience) - began
        began = time.monotonic()
        await stage.bare.send(deleting(PODS, names[half:]))
        left = lambda: seen.pods.number() == half  # noqa: E731
        deleted = await until(left, "half of the bare pods are gone", stage.patience) - began
        await stage.bare.send(deleting(PODS, names[:half]))
        await until(lambda: not seen.pods.number(), "no bare pod is left", stage.patience)
    return Floors(created, ready, deleted)


async def reading(stage: Stage) -> float:
    """Of one list of all Slurm nodes, the least of three."""
    took = []
    for _ in range(3):
        began = time.monotonic()
        await stage.slurm.send(slurm_requests.nodes())
        took.append(time.monotonic() - began)
    return min(took)


async def draining(stage: Stage, name: str) -> float:
    """Of one drain by one call."""
    began = time.monotonic()
    drain = NodeUpdate(state="DRAIN", reason="floor")
    await stage.slurm.send(slurm_requests.update_nodes([name], drain))
    took = time.monotonic() - began
    await stage.slurm.send(slurm_requests.update_nodes([name], NodeUpdate(state="UNDRAIN")))
    return took
