"""The least that the same work costs on the same servers."""

import time
from dataclasses import dataclass
from typing import Any, Final

from bench.workers import manifests
from bench.workers.bare import creating, deleting
from bench.workers.stage import Stage
from bench.workers.watching import Pods, until, watching
from windlass.slurm import NodeUpdate
from windlass.slurm import requests as slurm_requests

NAMESPACE: Final = "floor"
FEW, MANY = 2, 1_000
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
    """The best of a few rounds: the first also warms the servers."""
    stage.kubectl_create(*manifests.namespace(NAMESPACE))
    async with watching(stage.kube, NAMESPACE) as seen:
        rounds = [
            # kwok deletes by name, now and then twice: a name must not come again.
            await _round(stage, seen.pods, pod, [f"f{round_}-{n}" for n in range(stage.size)])
            for round_ in range(FEW if stage.size <= MANY else 1)
        ]
    return Floors(
        created=min(each.created for each in rounds),
        ready=min(each.ready for each in rounds),
        deleted=min(each.deleted for each in rounds),
    )


async def _round(stage: Stage, pods: Pods, pod: dict[str, Any], names: list[str]) -> Floors:
    size, half = stage.size, stage.size // 2
    making = creating(PODS, (manifests.like(pod, name, NAMESPACE) for name in names))
    began = time.monotonic()
    await stage.bare.send(making)
    created = time.monotonic() - began
    ready = await until(lambda: pods.number("Ready") == size, "all are ready", stage.patience)
    deleting_since = time.monotonic()
    await stage.bare.send(deleting(PODS, names[half:]))
    gone = await until(lambda: pods.number() == half, "half are gone", stage.patience)
    await stage.bare.send(deleting(PODS, names[:half]))
    await until(lambda: not pods.number(), "no bare pod is left", stage.patience)
    return Floors(created, ready - began, gone - deleting_since)


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
