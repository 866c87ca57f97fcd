"""The mirror in virtual time against the fake Slurm."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from windlass.slurm import requests, wire
from windlass.slurm.call import Request
from windlass.slurm.client import Client
from windlass.slurm.errors import Absent, Refused, SlurmError, Unsupported
from windlass.slurm.job_reading import USUAL, Thrift
from windlass.slurm.mirror import Mirror
from windlass.slurm.model import Job, Node
from windlass.slurm.pace import QUICK, STARTS, Pace
from windlass.slurm.specs import JobSpec, NodeUpdate
from windlass.slurm.table import Change
from windlass.slurm.tokens import StaticToken
from windlass.slurm.versions import Version
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import VirtualClock, run
from windlass.values.clock import Seconds
from windlass.values.states import JobState

R = TypeVar("R")
LONG_AGO = Seconds(-1e6)


@dataclass(slots=True)
class Stage:
    fake: FakeSlurm
    slurm: Client
    mirror: Mirror
    clock: VirtualClock
    heard: list[str] = field(default_factory=list)

    async def update(self, name: str, update: NodeUpdate) -> None:
        await self.slurm.send(requests.update_node(name, update))

    async def submit(self, **fields: object) -> int:
        spec = JobSpec(**{"external": True, "nodes": "1", **fields})  # type: ignore[arg-type]
        return (await self.slurm.send(requests.submit(spec))).job_id

    def count(self, call: str) -> int:
        return self.fake.calls.count(call)


@dataclass(slots=True)
class Slowed:
    """A client of whose calls one takes its time."""

    slurm: Client
    path: str
    seconds: float
    after: float = 0.0
    """Seconds that the answer takes."""
    queries: list[tuple[tuple[str, str], ...]] = field(default_factory=list)
    """Of the lists of nodes."""

    async def send(self, request: Request[R]) -> R:
        if request.path == "/nodes/":
            self.queries.append(request.query)
        if request.path == self.path:
            await asyncio.sleep(self.seconds)
        answer = await self.slurm.send(request)
        if request.path == self.path:
            await asyncio.sleep(self.after)
        return answer


@dataclass(slots=True)
class Silent:
    """A client of a Slurm that does not say what jobs hold."""

    slurm: Client
    error: SlurmError | None = None
    asked: int = 0

    async def send(self, request: Request[R]) -> R:
        if not request.path.startswith("/resources/"):
            return await self.slurm.send(request)
        self.asked += 1
        if self.error is not None:
            raise self.error
        return request.reader(wire.ResourcesAnswer())


@asynccontextmanager
async def stage(
    nodes: int = 4, *, jobs_pace: Pace = QUICK, thrift: Thrift = USUAL
) -> AsyncIterator[Stage]:
    clock = VirtualClock()
    fake = FakeSlurm(FakeCluster(now=clock.now))
    slurm = Client(fake, StaticToken("root"), Version.V45)
    line = f"NodeName=w-[0-{nodes - 1}] CPUs=4 State=EXTERNAL"
    await slurm.send(requests.create_nodes(line))
    made = Stage(fake, slurm, Mirror(slurm, clock, jobs_pace=jobs_pace, thrift=thrift), clock)
    for feed in made.mirror.feeds:
        feed.subscribe(lambda change: made.heard.append(change.name))
    running = asyncio.create_task(made.mirror.run())
    await made.mirror.synced()
    made.heard.clear()
    try:
        yield made
    finally:
        running.cancel()
        await asyncio.wait([running])


def play(
    scenario: Callable[[Stage], Awaitable[None]],
    *,
    nodes: int = 4,
    jobs_pace: Pace = QUICK,
    thrift: Thrift = USUAL,
) -> None:
    async def main() -> None:
        async with stage(nodes, jobs_pace=jobs_pace, thrift=thrift) as made:
            await scenario(made)

    run(main())


def test_a_drain_is_heard_within_a_second_once_and_shown_in_the_table() -> None:
    async def scenario(at: Stage) -> None:
        await asyncio.sleep(30)  # long enough to be at rest
        await at.update("w-2", NodeUpdate(state="DRAIN", reason="why"))
        await asyncio.sleep(1.0)
        assert at.heard == ["w-2"]
        assert at.mirror.nodes.table.items["w-2"].reason == "why"
        await asyncio.sleep(60)
        assert at.heard == ["w-2"]

    play(scenario)


def test_a_predicate_picks_what_is_heard_and_a_stop_ends_it() -> None:
    async def scenario(at: Stage) -> None:
        drains: list[str] = []

        def began_to_drain(change: Change[Node]) -> bool:
            return change.after is not None and change.after.state.drain

        stop = at.mirror.nodes.subscribe(lambda change: drains.append(change.name), began_to_drain)
        await at.update("w-0", NodeUpdate(comment="x"))
        await at.update("w-1", NodeUpdate(state="DRAIN", reason="x"))
        await asyncio.sleep(2)
        stop()
        await at.update("w-3", NodeUpdate(state="DRAIN", reason="x"))
        await asyncio.sleep(2)
        assert drains == ["w-1"]

    play(scenario)


def test_nodes_that_come_and_go_are_heard_as_that() -> None:
    async def scenario(at: Stage) -> None:
        heard: list[tuple[str, bool, bool]] = []
        at.mirror.nodes.subscribe(lambda each: heard.append((each.name, each.came, each.went)))
        await at.slurm.send(requests.create_nodes("NodeName=new State=EXTERNAL"))
        await asyncio.sleep(2)
        await at.slurm.send(requests.delete_node("new"))
        await asyncio.sleep(2)
        assert heard == [("new", True, False), ("new", False, True)]

    play(scenario)


def test_what_moves_by_itself_wakes_nobody_but_is_kept_up_to_date() -> None:
    async def scenario(at: Stage) -> None:
        at.fake.cluster.nodes["w-0"].cpu_load = 77
        at.fake.cluster.touch("nodes")
        await asyncio.sleep(2)
        assert at.heard == []
        assert at.mirror.nodes.table.items["w-0"].cpu_load == 77

    play(scenario)


def test_a_job_is_followed_from_its_start_to_its_end_by_single_reads() -> None:
    async def scenario(at: Stage) -> None:
        lists = at.count("GET /jobs/")
        job_id = await at.submit(name="mine")
        await asyncio.sleep(1)
        assert at.mirror.jobs.table.items[str(job_id)].state.running
        at.fake.cluster.finish(job_id, "FAILED", code=3)
        await asyncio.sleep(1)
        ended = at.mirror.jobs.table.items[str(job_id)]
        assert (ended.state.base, ended.exit_code.code) == ("FAILED", 3)
        assert at.count("GET /jobs/") == lists

    play(scenario)


def test_a_job_whose_end_matters_to_nobody_is_not_read_for_it() -> None:
    async def scenario(at: Stage) -> None:
        job_id = await at.submit(name="mine")
        await asyncio.sleep(1)
        read = f"GET /job/{job_id}"
        reads, lists = at.count(read), at.count("GET /jobs/")
        at.fake.cluster.finish(job_id, "FAILED", code=3)
        await asyncio.sleep(1)
        ended = at.mirror.jobs.table.items[str(job_id)]
        assert (ended.name, ended.state.base) == ("mine", "FAILED")
        assert at.heard.count(str(job_id)) == 2
        assert (reads, at.count(read), at.count("GET /jobs/")) == (1, 1, lists)

    play(scenario, thrift=Thrift(reads_ends=False))


def test_jobs_that_came_and_ended_between_two_looks_cost_nothing_where_ends_do_not_matter() -> None:
    async def scenario(at: Stage) -> None:
        calls = len(at.fake.calls)
        for _ in range(4):
            at.fake.cluster.finish(await at.submit(), "COMPLETED")
        await asyncio.sleep(1)
        read = [call for call in at.fake.calls[calls:] if call.startswith("GET /job/")]
        assert not read

    play(scenario, thrift=Thrift(reads_ends=False))


def test_many_jobs_at_once_are_read_as_one_list() -> None:
    async def scenario(at: Stage) -> None:
        lists = at.count("GET /jobs/")
        for _ in range(100):
            await at.submit()
        await asyncio.sleep(1)
        assert len(at.mirror.jobs.table.items) == 100
        assert at.count("GET /jobs/") == lists + 1

    play(scenario)


def tasks(at: Stage) -> dict[int | None, tuple[str, str]]:
    """State and nodes of each task; None are those that wait."""
    every = at.mirror.jobs.table.items.values()
    return {job.array_task_id: (job.state.base, job.nodes) for job in every}


def test_the_tasks_of_a_job_array_are_read_one_by_one_as_they_start() -> None:
    async def scenario(at: Stage) -> None:
        cluster = at.fake.cluster
        array = await at.submit(array="1-8", shared=("none",))
        await asyncio.sleep(1)
        running: dict[int | None, tuple[str, str]]
        running = {task: ("RUNNING", f"w-{task - 1}") for task in (1, 2, 3, 4)}
        assert tasks(at) == running | {None: ("PENDING", "")}
        calls = len(at.fake.calls)
        first = next(job for job in cluster.jobs.values() if job.array_task_id.number == 1)
        cluster.finish(first.job_id)
        (started,) = cluster.look()
        await asyncio.sleep(1)
        assert (tasks(at)[1], tasks(at)[5]) == (("COMPLETED", "w-0"), ("RUNNING", "w-0"))
        reads = {call for call in at.fake.calls[calls:] if call.startswith("GET /job/")}
        assert reads == {f"GET /job/{first.job_id}", f"GET /job/{started.job_id}"}
        assert f"{array}_5" not in at.mirror.jobs.table.items

    play(scenario)


def test_a_long_array_is_read_for_no_more_than_its_part_of_the_time() -> None:
    async def scenario(at: Stage) -> None:
        cluster = at.fake.cluster
        array = await at.submit(array="1-400", shared=("none",))
        at.mirror.slurm = Slowed(at.slurm, f"/job/{array}", 1.0)
        await asyncio.sleep(5)
        reads, lists = at.count(f"GET /job/{array}"), at.count("GET /jobs/")
        for _ in range(60):
            ending = next(job for job in cluster.jobs.values() if job.job_state == ["RUNNING"])
            cluster.finish(ending.job_id)
            (started,) = cluster.look()
            await asyncio.sleep(3)
            assert tasks(at)[int(ending.array_task_id.number)][0] == "COMPLETED"
            assert tasks(at)[int(started.array_task_id.number)] == ("RUNNING", started.nodes)
        assert 1 <= at.count(f"GET /job/{array}") - reads <= 9
        assert at.count("GET /jobs/") == lists

    play(scenario, thrift=Thrift(reads_ends=False))


def as_submitted(number: int) -> Job:
    return Job(number, state=JobState.parse(["PENDING"]), admin_comment="as we know it")


def test_a_new_job_is_known_without_being_read_until_it_starts_or_has_waited() -> None:
    async def scenario(at: Stage) -> None:
        held = await at.submit(hold=True)
        at.mirror.submitted(as_submitted(held))
        lists = at.count("GET /jobs/")
        await asyncio.sleep(1)
        assert at.mirror.jobs.table.items[str(held)].admin_comment == "as we know it"
        assert at.heard == [str(held)]
        assert at.count(f"GET /job/{held}") == 0
        await asyncio.sleep(5)
        assert at.mirror.jobs.table.items[str(held)].admin_comment == ""
        assert at.count(f"GET /job/{held}") + at.count("GET /jobs/") - lists >= 1

    play(scenario)


def test_a_new_job_that_runs_by_then_is_read() -> None:
    async def scenario(at: Stage) -> None:
        started = await at.submit()
        at.mirror.submitted(as_submitted(started))
        await asyncio.sleep(1)
        shown = at.mirror.jobs.table.items[str(started)]
        assert (shown.state.running, shown.admin_comment) == (True, "")

    play(scenario)


# --- Starts that are not read ---------------------------------------------------------------

PLACES = Thrift(reads_starts=False)


async def waiting(at: Stage) -> int:
    """A job that waits, and that the mirror knows."""
    job_id = await at.submit(hold=True)
    await asyncio.sleep(1)
    assert at.mirror.jobs.table.items[str(job_id)].state.pending
    return job_id


async def begin(at: Stage, job_id: int) -> Job:
    at.fake.cluster.jobs[job_id].hold = False
    at.fake.cluster.look()
    await asyncio.sleep(1)
    return at.mirror.jobs.table.items[str(job_id)]


def test_a_new_job_that_runs_by_then_is_only_asked_for_its_place() -> None:
    async def scenario(at: Stage) -> None:
        number = await at.submit(nodes="3")
        at.mirror.submitted(as_submitted(number))
        asked_at = int(at.clock.now())
        await asyncio.sleep(1)
        shown = at.mirror.jobs.table.items[str(number)]
        assert (shown.state.base, shown.admin_comment) == ("RUNNING", "as we know it")
        assert (shown.nodes, shown.node_count) == ("w-[0-2]", 3)
        assert shown.started_at in (asked_at, asked_at + 1)
        held = at.mirror.held(number) or ()
        assert [each.node for each in held] == ["w-0", "w-1", "w-2"]
        assert (at.count(f"GET /resources/{number}"), at.count(f"GET /job/{number}")) == (1, 0)
        assert at.heard.count(str(number)) == 1

    play(scenario, thrift=PLACES)


def test_a_job_that_starts_is_told_of_while_others_are_still_asked_for_their_place() -> None:
    async def scenario(at: Stage) -> None:
        early, late = await waiting(at), await waiting(at)
        at.mirror.slurm = Slowed(at.slurm, f"/resources/{late}", 5.0)
        assert (await begin(at, early)).state.running
        at.fake.cluster.jobs[late].hold = False
        other = await waiting(at)
        at.fake.cluster.jobs[other].hold = False
        at.fake.cluster.look()
        await asyncio.sleep(1)
        table = at.mirror.jobs.table.items
        assert (table[str(other)].state.base, table[str(late)].state.base) == ("RUNNING", "PENDING")
        await asyncio.sleep(5)
        assert at.mirror.jobs.table.items[str(late)].state.base == "RUNNING"

    play(scenario, thrift=PLACES)


def test_no_start_is_told_of_before_the_end_of_a_job_whose_place_it_may_have() -> None:
    async def scenario(at: Stage) -> None:
        first = await at.submit()
        await asyncio.sleep(1)
        second = await waiting(at)
        at.mirror.slurm = Slowed(at.slurm, f"/job/{first}", 2.0)
        at.fake.cluster.finish(first, "PREEMPTED")
        at.heard.clear()
        await begin(at, second)
        await asyncio.sleep(3)
        jobs = [each for each in at.heard if each in (str(first), str(second))]
        assert jobs == [str(first), str(second)]

    play(scenario, thrift=PLACES)


def test_a_job_that_was_read_while_it_waited_is_not_read_when_it_starts() -> None:
    async def scenario(at: Stage) -> None:
        job_id = await at.submit(name="mine", hold=True)
        at.fake.cluster.jobs[job_id].start_time = wire.Number(set=True, number=7)  # expected
        await asyncio.sleep(1)
        assert at.mirror.jobs.table.items[str(job_id)].started_at == 7
        reads = at.count(f"GET /job/{job_id}")
        shown = await begin(at, job_id)
        assert (shown.name, shown.state.base, shown.nodes) == ("mine", "RUNNING", "w-0")
        assert (shown.reason, shown.started_at) == ("None", int(at.clock.now()) - 1)
        assert at.count(f"GET /job/{job_id}") == reads

    play(scenario, thrift=PLACES)


def test_the_rest_of_a_job_that_started_comes_with_a_later_look() -> None:
    async def scenario(at: Stage) -> None:
        job_id = await waiting(at)
        at.fake.cluster.jobs[job_id].comment = "meanwhile"
        await begin(at, job_id)
        await asyncio.sleep(12)
        assert at.mirror.jobs.table.items[str(job_id)].comment == "meanwhile"

    play(scenario, thrift=PLACES)


def test_what_a_job_holds_is_forgotten_with_its_run() -> None:
    async def scenario(at: Stage) -> None:
        cluster = at.fake.cluster
        spec = JobSpec(script="#!/bin/sh\n", directory="/tmp", environment=("A=b",), hold=True)
        job_id = (await at.slurm.send(requests.submit(spec))).job_id
        await asyncio.sleep(1)
        assert (await begin(at, job_id)).nodes == "w-0"
        await at.slurm.send(requests.requeue(job_id, hold=True))
        await asyncio.sleep(1)
        assert at.mirror.held(job_id) is None
        del cluster.nodes["w-0"]
        assert (await begin(at, job_id)).nodes == "w-1"
        assert [each.node for each in at.mirror.held(job_id) or ()] == ["w-1"]
        cluster.finish(job_id)
        await asyncio.sleep(1)
        assert at.mirror.held(job_id) is None

    play(scenario, thrift=PLACES)


def test_what_jobs_hold_is_not_known_after_a_silence() -> None:
    async def scenario(at: Stage) -> None:
        job_id = await waiting(at)
        await begin(at, job_id)
        at.fake.down = True
        await asyncio.sleep(3)
        at.fake.down = False
        await asyncio.sleep(3)
        assert at.mirror.jobs.table.items[str(job_id)].state.running
        assert at.mirror.held(job_id) is None

    play(scenario, thrift=PLACES)


@pytest.mark.parametrize("error", [None, Absent("it runs no more"), Refused("not to you")])
def test_a_job_that_is_said_to_hold_nothing_is_read(error: SlurmError | None) -> None:
    async def scenario(at: Stage) -> None:
        at.mirror.slurm = silent = Silent(at.slurm, error)
        for asked in (1, 2):
            job_id = await waiting(at)
            shown = await begin(at, job_id)
            assert (shown.state.base, shown.nodes, silent.asked) == ("RUNNING", "w-0", asked)
            assert at.mirror.held(job_id) is None

    play(scenario, thrift=PLACES)


def test_a_slurm_that_cannot_say_what_jobs_hold_is_asked_once() -> None:
    async def scenario(at: Stage) -> None:
        at.mirror.slurm = silent = Silent(at.slurm, Unsupported("this version cannot"))
        for _ in range(3):
            assert (await begin(at, await waiting(at))).nodes == "w-0"
        assert silent.asked == 1

    play(scenario, thrift=PLACES)


def test_jobs_that_nobody_knew_and_tasks_of_arrays_are_read_when_they_start() -> None:
    async def scenario(at: Stage) -> None:
        array = await at.submit(array="1-2", hold=True)
        await asyncio.sleep(1)
        at.fake.cluster.jobs[array].hold = False
        at.fake.cluster.look()
        unknown = await at.submit()
        await asyncio.sleep(1)
        assert len([job for job in at.mirror.jobs.table.items.values() if job.nodes]) == 3
        assert at.count(f"GET /job/{unknown}") == 1
        assert not [call for call in at.fake.calls if call.startswith("GET /resources/")]

    play(scenario, thrift=PLACES)


def test_a_part_of_a_heterogenous_job_is_read_when_it_starts() -> None:
    async def scenario(at: Stage) -> None:
        job_id = await at.submit(hold=True)
        at.fake.cluster.jobs[job_id].het_job_id = wire.Number(set=True, number=job_id)
        await asyncio.sleep(1)
        assert (await begin(at, job_id)).nodes == "w-0"
        assert at.count(f"GET /resources/{job_id}") == 0

    play(scenario, thrift=PLACES)


@pytest.mark.parametrize(("others", "lists"), [(0, 1), (60, 0)])
def test_a_list_is_read_for_starts_only_where_most_jobs_start_at_once(
    others: int, lists: int
) -> None:
    async def scenario(at: Stage) -> None:
        for _ in range(others):
            at.fake.cluster.finish(await at.submit(), "COMPLETED")
        at.fake.cluster.defers = True
        numbers = [await at.submit() for _ in range(40)]
        for number in numbers:
            at.mirror.submitted(as_submitted(number))
        await asyncio.sleep(1)
        before = at.count("GET /jobs/")
        at.fake.cluster.look()
        await asyncio.sleep(1)
        table = at.mirror.jobs.table.items
        assert [table[str(number)].state.base for number in numbers] == ["RUNNING"] * 40
        assert at.count("GET /jobs/") - before == lists

    play(scenario, nodes=10, thrift=PLACES)


def test_a_new_job_that_slurm_does_not_know_is_none() -> None:
    async def scenario(at: Stage) -> None:
        at.mirror.submitted(as_submitted(77))
        await asyncio.sleep(1)
        assert "77" not in at.mirror.jobs.table.items
        assert at.heard == []

    play(scenario)


def test_a_job_that_is_submitted_while_slurm_is_asked_is_not_lost() -> None:
    async def scenario(at: Stage) -> None:
        at.mirror.slurm = Slowed(at.slurm, "/jobs/state/", 0.0, after=0.5)
        at.mirror.jobs.nudge()
        await asyncio.sleep(0.1)  # Slurm has answered, and we have not heard it yet
        held = await at.submit(hold=True)
        at.mirror.submitted(as_submitted(held))
        await asyncio.sleep(0.6)
        assert str(held) not in at.mirror.jobs.table.items
        await asyncio.sleep(1.5)
        assert at.mirror.jobs.table.items[str(held)].admin_comment == "as we know it"

    play(scenario)


def test_a_change_that_leaves_the_state_alone_is_seen_within_seconds_where_a_list_is_cheap() -> (
    None
):
    async def scenario(at: Stage) -> None:
        job_id = await at.submit()
        await asyncio.sleep(1)
        await at.slurm.send(requests.update_job(job_id, JobSpec(comment="late")))
        await asyncio.sleep(6)
        assert at.mirror.jobs.table.items[str(job_id)].comment == "late"

    play(scenario)


def test_the_few_that_go_on_are_read_in_the_place_of_a_list_of_those_that_have_ended() -> None:
    async def scenario(at: Stage) -> None:
        lasting = await at.submit()
        for _ in range(100):
            at.fake.cluster.finish(await at.submit(), "COMPLETED")
        await asyncio.sleep(6)
        lists = at.count("GET /jobs/")
        await at.slurm.send(requests.update_job(lasting, JobSpec(comment="late")))
        for _ in range(20):
            at.fake.cluster.finish(await at.submit(), "COMPLETED")
            await asyncio.sleep(0.5)
        assert at.mirror.jobs.table.items[str(lasting)].comment == "late"
        assert at.count("GET /jobs/") == lists

    play(scenario)


def test_no_list_is_read_for_ended_jobs_that_slurm_forgets_one_by_one() -> None:
    async def scenario(at: Stage) -> None:
        await at.submit()
        ended = [await at.submit() for _ in range(100)]
        for job_id in ended:
            at.fake.cluster.finish(job_id, "COMPLETED")
        await asyncio.sleep(12)
        lists = at.count("GET /jobs/")
        for job_id in ended[:30]:
            del at.fake.cluster.jobs[job_id]
            await asyncio.sleep(1)
        assert at.count("GET /jobs/") == lists

    play(scenario)


def test_a_dear_list_of_jobs_takes_no_more_than_its_part_of_the_time() -> None:
    async def scenario(at: Stage) -> None:
        at.mirror.slurm = Slowed(at.slurm, "/jobs/", 3.0)
        job_id = await at.submit()
        lists = at.count("GET /jobs/")
        for comment in range(600):
            await at.slurm.send(requests.update_job(job_id, JobSpec(comment=str(comment))))
            await asyncio.sleep(1)
        assert 8 <= at.count("GET /jobs/") - lists <= 12

    play(scenario)


def test_starts_that_are_expected_are_seen_just_after_a_second_begins() -> None:
    async def scenario(at: Stage) -> None:
        at.mirror.jobs.expecting = lambda: LONG_AGO
        asked, until = list[float](), at.clock.monotonic() + 3
        at.mirror.jobs.on_answer(lambda: asked.append(at.clock.now() % 1))
        at.mirror.jobs.nudge()
        await asyncio.sleep(0.4)
        asked.clear()
        while at.clock.monotonic() < until:
            await at.submit()
            at.mirror.jobs.nudge()
            await asyncio.sleep(0.07)
        assert {round(each, 2) for each in asked} == set(STARTS.beats)
        assert len(asked) == 5

    play(scenario, jobs_pace=STARTS)


@pytest.mark.parametrize(
    ("since", "beats"), [(0.1, {STARTS.beats[1]}), (LONG_AGO, set(STARTS.beats))]
)
def test_starts_are_looked_for_at_the_beat_that_showed_others_unless_one_is_overdue(
    since: float, beats: set[float]
) -> None:
    async def scenario(at: Stage) -> None:
        at.fake.cluster.defers = True
        at.mirror.jobs.expecting = lambda: Seconds(at.clock.monotonic() + since)
        asked = list[float]()
        at.mirror.jobs.on_answer(lambda: asked.append(round(at.clock.now() % 1, 2)))
        await asyncio.sleep(0.3 - at.clock.now() % 1)
        for _ in range(6):
            await at.submit()
            at.fake.cluster.look()
            at.mirror.jobs.nudge()
            await asyncio.sleep(1)
        assert set(asked[-4:]) == beats

    play(scenario, jobs_pace=STARTS)


def test_a_look_that_was_answered_a_little_too_late_for_a_beat_is_followed_by_another() -> None:
    async def scenario(at: Stage) -> None:
        at.mirror.jobs.expecting = lambda: LONG_AGO
        at.mirror.jobs.nudge()
        await asyncio.sleep(2.3 - at.clock.now() % 1)
        at.mirror.slurm, second = Slowed(at.slurm, "/jobs/state/", 0.6), int(at.clock.now())
        answered = list[float]()
        at.mirror.jobs.on_answer(lambda: answered.append(at.clock.now() - second))
        await asyncio.sleep(3)
        assert answered == pytest.approx([1.16, 1.76, 2.36, 3.16])

    play(scenario, jobs_pace=STARTS)


def test_a_start_that_comes_to_be_expected_during_a_long_wait_is_seen_in_time() -> None:
    async def scenario(at: Stage) -> None:
        at.mirror.slurm = Slowed(at.slurm, "/jobs/state/", 2.0)
        at.mirror.jobs.nudge()
        await asyncio.sleep(2.5)
        at.mirror.slurm = at.slurm
        expected, asked = await at.submit(), list[float]()
        at.mirror.jobs.on_answer(lambda: asked.append(at.clock.now()))
        at.mirror.jobs.expecting = lambda: LONG_AGO
        at.mirror.jobs.nudge()
        began = at.clock.now()
        await asyncio.sleep(1)
        assert asked[0] - began < 0.6
        assert str(expected) in at.mirror.jobs.table.items

    play(scenario, jobs_pace=STARTS)


@pytest.mark.parametrize(("expected", "within"), [(False, 10), (True, 40)])
def test_a_look_at_all_jobs_waits_a_while_for_starts_that_are_expected(
    expected: bool, within: float
) -> None:
    async def scenario(at: Stage) -> None:
        job_id = await at.submit()
        await asyncio.sleep(1)
        at.mirror.jobs.expecting = lambda: LONG_AGO if expected else None
        at.mirror.jobs.nudge()
        await at.slurm.send(requests.update_job(job_id, JobSpec(comment="now")))
        await asyncio.sleep(within - 10)
        assert at.mirror.jobs.table.items[str(job_id)].comment == ""
        await asyncio.sleep(10)
        assert at.mirror.jobs.table.items[str(job_id)].comment == "now"

    play(scenario, jobs_pace=STARTS)


def test_who_knows_of_a_change_has_the_job_read_at_once() -> None:
    async def scenario(at: Stage) -> None:
        job_id, other = await at.submit(), await at.submit()
        await asyncio.sleep(1)
        at.heard.clear()
        await at.slurm.send(requests.update_job(job_id, JobSpec(comment="now")))
        await at.mirror.refresh(job_id, other, 4_000_000)
        assert at.heard == [str(job_id)]
        assert at.mirror.jobs.table.items[str(job_id)].comment == "now"
        await asyncio.sleep(60)
        assert at.heard == [str(job_id)]

    play(scenario)


def test_a_job_read_alone_says_nothing_of_the_others() -> None:
    async def scenario(at: Stage) -> None:
        job_id = await at.submit()
        await asyncio.sleep(1)
        at.mirror.jobs.table.lose(at.clock.now())
        await at.mirror.refresh(job_id)
        assert at.mirror.jobs.table.unknown_since is not None

    play(scenario)


def test_no_job_is_seen_in_the_place_of_one_that_is_still_taken_for_running() -> None:
    async def scenario(at: Stage) -> None:
        cluster = at.fake.cluster
        for name in [name for name in cluster.nodes if name != "w-0"]:
            del cluster.nodes[name]
        first = await at.submit(shared=("none",))
        second = await at.submit(shared=("none",))
        await asyncio.sleep(1)
        cluster.finish(first)
        cluster.look()
        await at.mirror.refresh(second)
        states = {job.id: job.state.base for job in at.mirror.jobs.table.items.values()}
        assert states == {first: "RUNNING", second: "PENDING"}
        await asyncio.sleep(1)
        states = {job.id: job.state.base for job in at.mirror.jobs.table.items.values()}
        assert states == {first: "COMPLETED", second: "RUNNING"}

    play(scenario)


def test_a_forgotten_job_goes() -> None:
    async def scenario(at: Stage) -> None:
        job_id = await at.submit()
        await asyncio.sleep(1)
        del at.fake.cluster.jobs[job_id]
        await asyncio.sleep(2)
        assert at.mirror.jobs.table.items == {}
        assert at.heard[-1] == str(job_id)

    play(scenario)


def test_at_rest_a_minute_costs_few_calls_and_none_that_brings_a_list() -> None:
    async def scenario(at: Stage) -> None:
        await asyncio.sleep(30)
        at.fake.calls.clear()
        await asyncio.sleep(60)
        assert len(at.fake.calls) < 60 * 8
        assert "GET /ping/" not in at.fake.calls
        assert at.heard == []

    play(scenario)


def test_silence_is_visible_at_once_and_ends_with_what_changed_meanwhile() -> None:
    async def scenario(at: Stage) -> None:
        table = at.mirror.nodes.table
        wakes: list[bool] = []
        at.mirror.nodes.on_staleness(lambda: wakes.append(table.unknown_since is None))
        await asyncio.sleep(5)
        at.fake.down = True
        gone_at = at.clock.now()
        await asyncio.sleep(1.1)
        unknown = table.unknown_since
        assert unknown is not None
        assert gone_at - 1.1 <= unknown <= gone_at
        at.fake.cluster.nodes["w-0"].comment = "meanwhile"
        at.fake.down = False
        await asyncio.sleep(1.1)
        assert wakes == [False, True]
        assert at.heard == ["w-0"]

    play(scenario)


def test_a_slurmrestd_that_is_gone_is_silence_too() -> None:
    async def scenario(at: Stage) -> None:
        at.fake.cut = True
        await asyncio.sleep(2)
        assert all(feed.table.unknown_since is not None for feed in at.mirror.feeds)
        at.fake.cut = False
        await asyncio.sleep(1.1)
        assert all(feed.table.unknown_since is None for feed in at.mirror.feeds)
        assert at.heard == []

    play(scenario)


def test_a_controllers_clock_that_was_set_back_hides_nothing_for_long() -> None:
    async def scenario(at: Stage) -> None:
        await asyncio.sleep(5)
        at.clock.ahead -= 3600
        await at.update("w-1", NodeUpdate(comment="in the past"))
        await asyncio.sleep(at.mirror.check_every + 2)
        assert at.heard == ["w-1"]

    play(scenario)


@pytest.mark.parametrize("seconds", [3, 10, 3600])
def test_a_clock_that_was_set_back_a_little_hides_nothing_either(seconds: int) -> None:
    async def scenario(at: Stage) -> None:
        await asyncio.sleep(50)
        await at.update("w-0", NodeUpdate(comment="just before"))
        await asyncio.sleep(1.5)
        at.clock.ahead -= seconds
        await at.update("w-1", NodeUpdate(comment="in the past"))
        await asyncio.sleep(at.mirror.check_every + 2)
        assert at.heard == ["w-0", "w-1"]

    play(scenario)


def test_many_jobs_are_seen_at_once_although_the_clock_was_set_back() -> None:
    async def scenario(at: Stage) -> None:
        await asyncio.sleep(5)
        at.clock.ahead -= 3600
        for _ in range(100):
            await at.submit()
        await asyncio.sleep(2)
        assert len(at.mirror.jobs.table.items) == 100

    play(scenario)


def test_a_steady_clock_costs_no_list() -> None:
    async def scenario(at: Stage) -> None:
        await asyncio.sleep(10)
        at.mirror.slurm = counted = Slowed(at.slurm, "/diag/", 0.4)
        await asyncio.sleep(600)
        assert not [each for each in counted.queries if not each]

    play(scenario)


def test_a_call_that_hangs_is_silence_and_is_asked_again() -> None:
    async def scenario(at: Stage) -> None:
        at.mirror.slurm = Slowed(at.slurm, "/nodes/", 10_000.0)
        await asyncio.sleep(at.mirror.answer_within + 2)
        assert at.mirror.nodes.table.unknown_since is not None
        assert at.mirror.jobs.table.unknown_since is None
        await at.update("w-1", NodeUpdate(comment="meanwhile"))
        at.mirror.slurm = at.slurm
        await asyncio.sleep(at.mirror.answer_within * 2 + 1)
        assert {feed.table.unknown_since for feed in at.mirror.feeds} == {None}
        assert at.heard == ["w-1"]

    play(scenario)


def test_an_answer_that_always_takes_longer_is_waited_for_in_the_end() -> None:
    async def scenario(at: Stage) -> None:
        await at.update("w-1", NodeUpdate(comment="at last"))
        at.mirror.slurm = Slowed(at.slurm, "/nodes/", at.mirror.answer_within * 2.5)
        await asyncio.sleep(at.mirror.answer_within * 8)
        assert at.heard == ["w-1"]

    play(scenario)


def test_a_nudge_asks_without_waiting() -> None:
    async def scenario(at: Stage) -> None:
        await asyncio.sleep(30)
        await at.update("w-1", NodeUpdate(comment="x"))
        at.mirror.nodes.nudge()
        await asyncio.sleep(0.01)
        assert at.heard == ["w-1"]

    play(scenario)
