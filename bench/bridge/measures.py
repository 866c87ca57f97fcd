"""The rows of the table, each after the one before it."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final

from bench.bridge import manifests
from bench.bridge.process import Bridge
from bench.bridge.stage import Stage, mark, used
from bench.bridge.starts import starts
from bench.workers.audit import Write, kinds
from bench.workers.table import Row, percentile, show
from bench.workers.watching import until
from windlass.slurm import JobSpec
from windlass.slurm import requests as slurm

GANG: Final = 10
SETTLED: Final = 15.0
"""Seconds in which all that waits has been told why."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of pods that were made, bound and held."""

    rate: float
    """Pods a second, until they were bound."""
    cpu: float
    """Seconds of the bridge."""
    writes: list[Write]
    calls: Counter[str]


class Bench:
    def __init__(self, stage: Stage, bridge: Bridge, floor: float) -> None:
        self.stage = stage
        self.bridge = bridge
        self.floor = floor

    async def measure(self, behind: int, rest: float) -> None:
        """Pods alone come first and last, those with a queue behind them in between: a machine that
        becomes slower or faster meanwhile does so for both."""
        await self.warm_up()
        alone = [await self.singles("one")]
        await self.gangs(alone[0])
        if not behind:
            return
        async with asyncio.timeout(1800), self.waiting_behind(behind):
            before = [await self.singles_before("two", behind)]
            if rest:
                await self.at_rest(behind, rest)
            before.append(await self.singles_before("three", behind))
        alone.append(await self.singles_again("four"))
        what = f"the same with {behind:,} pods waiting behind"
        value, floor = mean(before), mean(alone)
        show(Row(what=what, value=value, unit="/s", floor=floor, least_times=0.8))

    async def warm_up(self) -> None:
        """A new bridge waits for what the one before it may have submitted."""
        await self.stage.create([manifests.pod("first")])
        seen = self.stage.pods
        await until(lambda: seen.all_bound(["first"]), "the first is bound", self.stage.patience)
        await self.clear(["first"])

    # --- pods -----------------------------------------------------------------------------------

    async def singles(self, prefix: str) -> float:
        size, nodes = self.stage.size, self.stage.nodes
        names = self.names(prefix)
        cost = await self.cost(names, [manifests.pod(name) for name in names])
        what = f"{size:,} pods onto {nodes} idle nodes"
        show(Row(what=what, value=cost.rate, unit="/s", floor=self.floor, least_times=0.6))
        self.show_calls(cost, most=2)
        self.latency(names)
        note = f"{cost.cpu / size * 1000:.1f} ms a pod"
        show(Row(what="bridge CPU for that", value=cost.cpu, unit="s", note=note))
        await self.clear(names)
        return cost.rate

    async def gangs(self, alone: float) -> None:
        size = self.stage.size // GANG
        groups = [f"gang-{number}" for number in range(size)]
        pods = [
            manifests.pod(f"{group}-{rank}", gang=group) for group in groups for rank in range(GANG)
        ]
        await self.stage.create_groups(manifests.group(group, GANG) for group in groups)
        names = [each["metadata"]["name"] for each in pods]
        cost = await self.cost(names, pods)
        what = f"{size} gangs of {GANG}, against single pods"
        asked, wrote = cost.calls.total() / len(names), len(cost.writes) / len(names)
        note = f"{asked:.2f} calls, {wrote:.2f} writes a pod"
        show(Row(what=what, value=cost.rate, unit="/s", floor=alone, least_times=1.0, note=note))
        self.latency(names)
        await self.clear(names)

    async def singles_before(self, prefix: str, behind: int) -> float:
        names = self.names(prefix)
        cost = await self.cost(names, [manifests.pod(name) for name in names])
        note = f"{cost.cpu / len(names) * 1000:.1f} ms of CPU a pod"
        show(Row(what=f"with {behind:,} waiting behind", value=cost.rate, unit="/s", note=note))
        self.show_calls(cost)
        self.latency(names)
        await self.clear(names, left=behind + 1)
        return cost.rate

    async def singles_again(self, prefix: str) -> float:
        names = self.names(prefix)
        rate = await self.bound(names, [manifests.pod(name) for name in names])
        show(Row(what="without them", value=rate, unit="/s"))
        return rate

    def names(self, prefix: str) -> list[str]:
        return [f"{prefix}-{number}" for number in range(self.stage.size)]

    async def cost(self, names: list[str], pods: list[Any]) -> Cost:
        since, cpu = await mark(self.stage), self.bridge.cpu()
        rate = await self.bound(names, pods)
        await self.held(names)
        cpu = self.bridge.cpu() - cpu
        writes, calls = await used(self.stage, since)
        return Cost(rate, cpu, writes, calls)

    def show_calls(self, cost: Cost, most: float | None = None) -> None:
        each = cost.calls.total() / self.stage.size
        show(Row(what="Slurm calls a pod", value=each, most=most, note=_list(cost.calls)))
        each = len(cost.writes) / self.stage.size
        show(Row(what="API writes a pod", value=each, most=3, note=_list(kinds(cost.writes))))

    async def bound(self, names: list[str], pods: list[Any]) -> float:
        """Pods a second, from the moment in which the bridge may begin."""
        seen = self.stage.pods
        began = await self.bridge.after(self.stage.create(pods))

        def bound() -> bool:
            self.bridge.check()
            return seen.all_bound(names)

        done = await until(bound, "all are bound", self.stage.patience)
        return len(names) / (done - began)

    async def held(self, names: list[str]) -> None:
        """Until all that has to be written on them has been."""
        seen = self.stage.pods
        await until(lambda: seen.held.issuperset(names), "all are held", self.stage.patience)

    def latency(self, names: list[str]) -> None:
        found = starts(self.stage.servers.slurm.logs / "slurmctld.log")
        bound = [self.stage.pods.bound[name] for name in names]
        took = [one.at - found[one.job] for one in bound if one.job in found]
        note = f"median {percentile(took, 0.5):.2f} s, worst {max(took):.2f} s of {len(took)}"
        value = percentile(took, 0.95)
        show(Row(what="job start to pod bound, 95 %", value=value, unit="s", most=1, note=note))

    async def clear(self, names: list[str], left: int = 0) -> None:
        numbers = {self.stage.pods.bound[name].job for name in names}
        jobs = [number for number in numbers if number is not None]
        await self.stage.slurm.send(slurm.cancel_jobs(jobs))
        await self.stage.delete(names)
        await self.stage.until_jobs(left)

    # --- a long queue ---------------------------------------------------------------------------

    @asynccontextmanager
    async def waiting_behind(self, count: int) -> AsyncIterator[None]:
        """Each wants a whole node, and of each node a CPU is taken."""
        stage, names = self.stage, [f"wait-{number}" for number in range(count)]
        hog = await self.hog()
        began = time.monotonic()
        await stage.create(map(manifests.waiting, names))
        await stage.until_jobs(count + 1)
        took = time.monotonic() - began
        show(Row(what=f"{count:,} pods made and submitted", value=count / took, unit="/s"))
        await self.settled()
        yield
        began = time.monotonic()
        await stage.delete(names)
        await stage.until_jobs(1)
        took = time.monotonic() - began
        show(Row(what=f"{count:,} deleted, and their jobs", value=count / took, unit="/s"))
        await stage.slurm.send(slurm.cancel_jobs([hog]))
        await stage.until_jobs(0)

    async def hog(self) -> int:
        """A job that has a CPU of each node."""
        stage = self.stage
        hog = JobSpec(
            name="hog",
            external=True,
            directory="/tmp",
            partition="all",
            nodes=str(stage.nodes),
            tasks=stage.nodes,
            tasks_per_node=1,
            memory_per_node=100,
            priority=2_000_000,
        )
        number = (await stage.slurm.send(slurm.submit(hog))).job_id
        while not (await stage.slurm.send(slurm.job(number))).state.running:
            await asyncio.sleep(0.1)
        return number

    async def settled(self) -> None:
        """Until nothing was written for a while."""
        audit, last = self.stage.servers.audit, -1
        while (now := len(audit.since(0))) != last:
            last = now
            await asyncio.sleep(SETTLED)

    async def at_rest(self, behind: int, seconds: float) -> None:
        since, cpu = await mark(self.stage), self.bridge.cpu()
        await asyncio.sleep(seconds)
        cpu = self.bridge.cpu() - cpu
        writes, calls = await used(self.stage, since)
        what = f"at rest for {seconds:g} s with {behind:,} waiting: CPU"
        most = 2 * seconds / 60
        show(Row(what=what, value=cpu, unit="s", most=most, note=_list(calls)))
        note = _list(kinds(writes))
        show(Row(what="API writes but the lease", value=len(writes), note=note))
        show(Row(what="peak memory of the bridge", value=self.bridge.peak(), unit="MB"))


def _list(counted: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counted.most_common(6))
