"""When a job may begin that is submitted behind others."""

import asyncio
from dataclasses import dataclass
from typing import TypeVar

import pytest

from windlass.bridge.next_second import AGREED, EVERY, LONG, NextSecond
from windlass.slurm.call import Request
from windlass.slurm.client import Client
from windlass.slurm.mirror import Mirror
from windlass.slurm.model import Job
from windlass.slurm.specs import JobSpec
from windlass.slurm.statistics import Diag
from windlass.slurm.tokens import StaticToken
from windlass.slurm.versions import Version
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import VirtualClock, run

R = TypeVar("R")
NEWEST, OLDEST = max(Version), min(Version)
SPEC = JobSpec(name="train")


@dataclass(slots=True)
class Skewed:
    """A Slurm whose clock differs from ours."""

    slurm: Client
    ahead: int

    async def send(self, request: Request[R]) -> R:
        found = await self.slurm.send(request)
        if isinstance(found, Diag):
            return Diag(now=found.now + self.ahead)  # type: ignore[return-value]
        return found


@dataclass(frozen=True, slots=True)
class Case:
    jobs: int = LONG
    scheduling: tuple[str, ...] = ("batch_sched_delay=0", "Sched_Interval=1")
    ahead: int = 0
    version: Version = NEWEST
    known_for: float = AGREED * EVERY
    down: bool = False
    set_ahead: float = 0.0
    """How far our clock is set before the job is submitted."""


def begins_after(case: Case) -> int | None:
    """Seconds from the one in which a job is submitted."""

    async def main() -> int | None:
        clock = VirtualClock(1_790_000_000.4)
        fake = FakeSlurm(FakeCluster(now=clock.now, scheduling=case.scheduling))
        fake.down = case.down
        client = Client(fake, StaticToken("root"), case.version)
        mirror = Mirror(Skewed(client, case.ahead), clock)
        mirror.jobs.table.items = {str(number): Job(id=number) for number in range(case.jobs)}
        asked = NextSecond(clock)
        following = asyncio.create_task(asked.follow(mirror))
        await asyncio.sleep(case.known_for)
        second = int(clock.now())
        clock.ahead += case.set_ahead
        begins_at = asked.given(SPEC).begins_at
        following.cancel()
        await asyncio.wait([following])
        assert asked.given(SPEC) == SPEC, "nothing is known of a Slurm that is not followed"
        return None if begins_at is None else begins_at - second

    return run(main())


def test_behind_a_long_queue_a_job_may_begin_in_the_next_second() -> None:
    assert begins_after(Case()) == 1


def test_a_clock_that_was_just_set_delays_no_job() -> None:
    assert begins_after(Case(set_ahead=3600.0)) == 1


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case(jobs=LONG - 1), id="the queue is short"),
        pytest.param(Case(scheduling=("sched_interval=10",)), id="slurmctld looks seldom"),
        pytest.param(Case(scheduling=()), id="slurmctld looks as often as it likes"),
        pytest.param(Case(ahead=1), id="its clock is ahead"),
        pytest.param(Case(ahead=-1), id="its clock is behind"),
        pytest.param(Case(known_for=(AGREED - 1) * EVERY - 1), id="it is not known for long"),
        pytest.param(Case(version=OLDEST), id="it is too old to say"),
        pytest.param(Case(down=True), id="it does not answer"),
    ],
)
def test_a_job_may_begin_at_once_where(case: Case) -> None:
    assert begins_after(case) is None


def test_who_is_to_begin_later_does() -> None:
    later = JobSpec(begins_at=1_800_000_000)
    assert NextSecond(VirtualClock()).given(later) is later
