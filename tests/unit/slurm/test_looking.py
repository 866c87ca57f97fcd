"""Which jobs are looked at, in virtual time against the fake Slurm."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from windlass.slurm.call import Request
from windlass.slurm.client import Client
from windlass.slurm.looking import FOR_A_WHILE, Look, Looking
from windlass.slurm.tokens import StaticToken
from windlass.slurm.versions import Version
from windlass.slurm.wire import WireNode
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import VirtualClock, run

R = TypeVar("R")
ALL: list[str] = []
QUEUE = 10


@dataclass(slots=True)
class Stage:
    """Ten jobs that are held, one that runs, and one that is new."""

    cluster: FakeCluster
    slurm: Client
    clock: VirtualClock
    asked: list[list[str]] = field(default_factory=list)
    """The jobs that each question named."""
    looking: Looking = field(init=False)
    runs: int = 0
    new: int = 0

    def __post_init__(self) -> None:
        self.looking = Looking(self, self.clock, many=QUEUE)
        for _ in range(QUEUE):
            self.cluster.new_job().hold = True
        self.runs, self.new = self.start(), self.cluster.new_job().job_id

    async def send(self, request: Request[R]) -> R:
        self.asked.append(sorted(value for _, value in request.query))
        return await self.slurm.send(request)

    def start(self, job_id: int | None = None) -> int:
        job = self.cluster.jobs[job_id] if job_id else self.cluster.new_job()
        job.hold = False
        self.cluster.place(job, [])
        assert job.job_state == ["RUNNING"]
        return job.job_id

    async def look(self, *, soon: bool = True) -> Look:
        look = await self.looking.look({str(self.new)}, soon=soon)
        self.looking.take(look)
        return look

    @property
    def some(self) -> list[str]:
        return sorted([str(self.runs), str(self.new)])


def play(scenario: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        clock = VirtualClock()
        cluster = FakeCluster(now=clock.now, defers=True)
        cluster.nodes["n"] = WireNode(name="n", state=["IDLE"], cpus=8)
        stage = Stage(cluster, Client(FakeSlurm(cluster), StaticToken("root"), max(Version)), clock)
        await stage.look()  # nothing was known before, so all of it is new
        await asyncio.sleep(1)
        await stage.look()
        assert stage.asked == [ALL, ALL]
        await asyncio.sleep(1)
        await scenario(stage)

    run(main())


def test_new_jobs_and_those_that_run_are_looked_at() -> None:
    async def scenario(at: Stage) -> None:
        at.start(at.new)
        look = await at.look()
        assert at.asked[2:] == [at.some]
        assert (look.moved, look.gone) == ([str(at.new)], False)
        assert look.states[str(at.new)].running
        assert len(look.states) == QUEUE + 2
        assert look.all_at == look.asked_at - 1

    play(scenario)


def test_all_are_looked_at_after_a_while() -> None:
    async def scenario(at: Stage) -> None:
        await at.look()
        await asyncio.sleep(FOR_A_WHILE)
        look = await at.look()
        assert at.asked[2:] == [at.some, ALL]
        assert look.all_at == look.asked_at

    play(scenario)


def test_all_are_looked_at_once_a_place_is_free() -> None:
    async def scenario(at: Stage) -> None:
        at.cluster.finish(at.runs)
        older = at.start(1)
        look = await at.look()
        assert at.asked[2:] == [at.some, ALL]
        assert sorted(look.moved) == sorted([str(at.runs), str(older)])

    play(scenario)


def test_all_are_looked_at_once_slurm_has_forgotten_one() -> None:
    async def scenario(at: Stage) -> None:
        del at.cluster.jobs[at.runs]
        look = await at.look()
        assert at.asked[2:] == [at.some, ALL]
        assert look.gone
        assert str(at.runs) not in look.states

    play(scenario)


def test_all_are_looked_at_again_after_an_older_one_has_started() -> None:
    async def scenario(at: Stage) -> None:
        await asyncio.sleep(FOR_A_WHILE)
        at.start(1)
        for _ in range(3):
            await at.look()
        assert at.asked[2:] == [ALL, ALL, sorted([*at.some, "1"])]

    play(scenario)


def test_all_are_looked_at_where_tasks_of_an_array_run() -> None:
    async def scenario(at: Stage) -> None:
        await asyncio.sleep(FOR_A_WHILE)
        array = at.cluster.new_job()
        array.array_job_id.set, array.array_job_id.number = True, array.job_id
        array.array_task_string = "1-3"
        at.cluster.place(array, [])
        for _ in range(3):
            await at.look()
        assert at.asked[2:] == [ALL, ALL, ALL]

    play(scenario)


def test_all_are_looked_at_where_nobody_waits_for_the_new_ones() -> None:
    async def scenario(at: Stage) -> None:
        await at.look(soon=False)
        await at.look()
        assert at.asked[2:] == [ALL, ALL]

    play(scenario)


def test_all_are_looked_at_where_they_are_not_many() -> None:
    async def scenario(at: Stage) -> None:
        at.looking.many = QUEUE + 3
        await at.look()
        assert at.asked[2:] == [ALL]

    play(scenario)
