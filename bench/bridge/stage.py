"""Everything that runs while something is measured."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from bench.bridge import manifests
from bench.bridge.watching import Pods
from bench.workers.audit import LATE, Write
from bench.workers.bare import Bare, creating, deleting
from bench.workers.servers import Servers
from bench.workers.watching import until
from windlass.kube.client import Client
from windlass.slurm import Client as Slurm
from windlass.slurm import requests as slurm

PODS: Final = f"/api/v1/namespaces/{manifests.NAMESPACE}/pods"
OURS: Final = "REQUEST_STATS_INFO"
"""The one question about what was asked."""
GROUPS: Final = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{manifests.NAMESPACE}/podgroups"


@dataclass(frozen=True, slots=True)
class Stage:
    servers: Servers
    kube: Client
    bare: Bare
    slurm: Slurm
    pods: Pods
    size: int
    nodes: int
    workers: int

    @property
    def patience(self) -> float:
        return 120 + self.size * 0.2

    async def add_nodes(self) -> None:
        await self.bare.send(creating("/api/v1/nodes", map(manifests.node, range(self.nodes))))

    async def create(self, pods: Iterable[Any]) -> None:
        await self.bare.send(creating(PODS, pods))

    async def create_groups(self, groups: Iterable[Any]) -> None:
        await self.bare.send(creating(GROUPS, groups))

    async def delete(self, names: Iterable[str]) -> None:
        gone = list(names)
        await self.bare.send(deleting(PODS, gone))
        left = self.pods.there
        await until(lambda: left.isdisjoint(gone), "pods are gone", 2 * self.patience)

    async def clear(self) -> None:
        await self.delete(list(self.pods.there))

    async def jobs(self) -> tuple[int, int]:
        """How many Slurm knows, and how many of them wait or run."""
        found = await self.slurm.send(slurm.job_states())
        return len(found), sum(not each.state.ended for each in found)

    async def until_jobs(self, number: int) -> None:
        """Until Slurm knows of so many, all alive."""
        async with asyncio.timeout(self.patience + number * 0.1):
            while await self.jobs() != (number, number):
                await asyncio.sleep(0.5)


@dataclass(frozen=True, slots=True)
class Mark:
    """What was used up to a moment."""

    writes: int
    calls: Counter[str]


async def mark(stage: Stage) -> Mark:
    await asyncio.sleep(LATE)
    return Mark(stage.servers.audit.place(), await _calls(stage))


async def used(stage: Stage, since: Mark) -> tuple[list[Write], Counter[str]]:
    calls = await _calls(stage) - since.calls - Counter([OURS])
    await asyncio.sleep(LATE)
    return stage.servers.audit.since(since.writes), calls


async def _calls(stage: Stage) -> Counter[str]:
    """What slurmctld itself has counted, by kind: slurmrestd asks it once or more for each call,
    and nothing stands in the way of those that are measured."""
    counted = (await stage.slurm.send(slurm.diag())).rpcs_by_message_type
    return Counter({one.message_type: one.count for one in counted})
