"""What the bridge asks of Slurm for its jobs, and of what it wakes their gangs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace

from windlass.bridge.gang import GangKey
from windlass.bridge.link import DEAF, Link
from windlass.bridge.marker import Marker
from windlass.bridge.next_second import AGREED, EVERY, LONG
from windlass.slurm.specs import JobSpec
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Transport
from windlass.slurm.wire import WireNode
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import VirtualClock, run

TRAIN = GangKey("Job", "team", "train")
MARKER = Marker("blue", TRAIN, "uid")
NODES = ("n1", "n2", "n3")


@dataclass(slots=True)
class Stage:
    slurm: FakeSlurm
    link: Link
    woken: list[GangKey] = field(default_factory=list)

    def calls(self, call: str) -> int:
        return self.slurm.calls.count(call)

    async def submit(self) -> int:
        spec = JobSpec(external=True, nodes="3", admin_comment=MARKER.write())
        number = await self.link.submit(MARKER, spec)
        assert number is not None
        return number

    async def held(self, number: int) -> list[str] | None:
        found = await self.link.held(number)
        return None if found is None else [each.node for each in found]


def play(scenario: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        clock = VirtualClock()
        slurm = FakeSlurm(FakeCluster(now=clock.now))
        for name in NODES:
            slurm.cluster.nodes[name] = WireNode(name=name, state=["IDLE"], cpus=4)

        def dial() -> AbstractAsyncContextManager[Transport]:
            @asynccontextmanager
            async def opened() -> AsyncIterator[Transport]:
                yield slurm

            return opened()

        stage = Stage(slurm, Link("blue", StaticToken("it is me"), clock, dial))
        stage.link.listen(replace(DEAF, gang=stage.woken.append))
        running = asyncio.create_task(stage.link.run())
        await asyncio.sleep(1)
        await scenario(stage)
        running.cancel()
        await asyncio.wait([running])

    run(main())


def test_a_job_of_ours_that_starts_is_asked_once_for_what_it_holds_and_not_read() -> None:
    async def scenario(at: Stage) -> None:
        number = await at.submit()
        await asyncio.sleep(2)
        assert await at.held(number) == await at.held(number) == list(NODES)
        assert (at.calls(f"GET /resources/{number}"), at.calls(f"GET /job/{number}")) == (1, 0)

    play(scenario)


def test_what_was_not_heard_at_the_start_is_asked_for_once() -> None:
    async def scenario(at: Stage) -> None:
        number = await at.submit()
        await asyncio.sleep(2)
        at.slurm.down = True
        await asyncio.sleep(3)
        at.slurm.down = False
        await asyncio.sleep(3)
        assert await at.held(number) == await at.held(number) == list(NODES)
        assert at.calls(f"GET /resources/{number}") == 2

    play(scenario)


def test_a_job_that_has_ended_holds_nothing() -> None:
    async def scenario(at: Stage) -> None:
        number = await at.submit()
        await asyncio.sleep(2)
        at.slurm.cluster.finish(number)
        await asyncio.sleep(2)
        assert await at.held(number) is None

    play(scenario)


def test_what_becomes_known_later_of_a_job_that_runs_wakes_nobody() -> None:
    async def scenario(at: Stage) -> None:
        number = await at.submit()
        await asyncio.sleep(2)
        at.woken.clear()
        at.slurm.cluster.jobs[number].account = "physics"
        await asyncio.sleep(30)
        (seen,) = at.link.ours(TRAIN)
        assert (seen.job.account, at.woken) == ("physics", [])

    play(scenario)


def test_a_comment_that_becomes_another_wakes_the_gang() -> None:
    async def scenario(at: Stage) -> None:
        number = await at.submit()
        await asyncio.sleep(2)
        at.woken.clear()
        at.slurm.cluster.jobs[number].comment = "by somebody"
        await asyncio.sleep(30)
        assert at.woken == [TRAIN]

    play(scenario)


def test_a_job_is_submitted_behind_a_long_queue_to_begin_in_the_next_second() -> None:
    async def scenario(at: Stage) -> None:
        cluster = at.slurm.cluster
        for _ in range(LONG):
            cluster.new_job().hold = True
        await asyncio.sleep(AGREED * EVERY)
        second = int(cluster.now())
        number = await at.submit()
        assert cluster.jobs[number].begins_at == second + 1
        await asyncio.sleep(1)
        cluster.look()
        await asyncio.sleep(2)
        assert await at.held(number) == list(NODES)

    play(scenario)
