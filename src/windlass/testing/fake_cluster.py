"""The state behind the fake Slurm, and how its jobs get nodes."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from msgspec import Struct, convert, json, to_builtins

from windlass.slurm import wire
from windlass.slurm.call import Response
from windlass.slurm.errors import Errno
from windlass.slurm.table import array_tasks
from windlass.testing.fake_allocation import FakeJob, Held, allocated, free
from windlass.values.hostlist import expand, fold

T = TypeVar("T", bound=Struct)

BASES: Final = frozenset({"IDLE", "MIXED", "ALLOCATED", "DOWN", "UNKNOWN"})


class Rejected(Exception):
    """slurmctld said no."""

    def __init__(self, errno: int, status: int = 422) -> None:
        super().__init__(errno)
        self.errno = errno
        self.status = status


@dataclass(slots=True)
class FakeCluster:
    now: Callable[[], float]
    name: str = "fake"
    nodes: dict[str, wire.WireNode] = field(default_factory=dict)
    jobs: dict[int, FakeJob] = field(default_factory=dict)
    partitions: dict[str, wire.WirePartition] = field(default_factory=dict)
    reservations: dict[str, wire.WireReservation] = field(default_factory=dict)
    topologies: frozenset[str] = frozenset({"default"})
    """Their names; each has all switches and blocks that are asked for."""
    defers: bool = False
    """Whether jobs wait until somebody calls `look`."""
    scheduling: tuple[str, ...] = ("sched_interval=1",)
    """The words of SchedulerParameters."""
    _changed: dict[str, int] = field(default_factory=dict)
    _next_job: int = 1

    def __post_init__(self) -> None:
        state = wire.WirePartitionState(["UP"])
        everything = wire.WirePartition(name="all", partition=state, node_sets="ALL")
        everything.flags = ["DEFAULT"]
        self.partitions["all"] = everything
        self.touch("nodes", "jobs", "partitions", "reservations")

    def touch(self, *kinds: str) -> None:
        """Note that something of these kinds has changed just now."""
        for kind in kinds:
            self._changed[kind] = int(self.now())

    def finish(self, job_id: int, state: str = "COMPLETED", code: int = 0) -> None:
        """End a job, as the world outside would."""
        self.end(self.jobs[job_id], state)
        self.jobs[job_id].exit_code.return_code = number(code)

    def unchanged(self, kind: str, since: int | None) -> bool:
        """Slurm counts whole seconds, and takes the last one for changed, to be sure."""
        return since is not None and since - 1 >= self._changed[kind]

    def node(self, name: str) -> wire.WireNode:
        if name not in self.nodes:
            raise Rejected(Errno.ESLURM_INVALID_NODE_NAME)
        return self.nodes[name]

    def job(self, text: str) -> FakeJob:
        if int(text) not in self.jobs:
            raise Rejected(Errno.ESLURM_INVALID_JOB_ID, 404)
        return self.jobs[int(text)]

    def records(self, text: str) -> list[FakeJob]:
        """The job of a number; of an array every task that has begun, and the rest as one."""
        found = [job for job in self.jobs.values() if job.array_job_id == number(int(text))]
        return found or [self.job(text)]

    def users_of(self, name: str) -> list[FakeJob]:
        """The jobs that run on a node."""
        running = (job for job in self.jobs.values() if job.job_state == ["RUNNING"])
        return [job for job in running if name in job.held]

    def settle(self, name: str) -> None:
        """Give a node the base state and the allocation that its jobs make."""
        node = self.nodes[name]
        held = [job.held[name] for job in self.users_of(name)]
        node.alloc_cpus = sum(each.cpus for each in held)
        node.alloc_memory = sum(each.memory for each in held)
        base = "IDLE" if not node.alloc_cpus else "MIXED"
        if node.alloc_cpus >= node.cpus:
            base = "ALLOCATED"
        words = [word for word in node.state or () if word not in BASES]
        if "DOWN" not in (node.state or ()):
            node.state = [base, *words]
        self.touch("nodes")

    def place(self, job: FakeJob, only: list[str]) -> None:
        """Start a job if there is room for it; `only` names all nodes that can be had, if any."""
        if job.begins_at > self.now():
            job.state_reason = "BeginTime"
            return
        while job.array_task_string and self.room(job, only):
            self._start(self.split(job, array_tasks(job.array_task_string)[0]), only)
        if job.job_state == ["PENDING"]:
            self._start(job, only)

    def split(self, array: FakeJob, task: int) -> FakeJob:
        """A record for one task that waits; that of the array is left to the last one."""
        others = [each for each in array_tasks(array.array_task_string) if each != task]
        array.array_task_string = ",".join(map(str, others))
        found = self._add(deepcopy(array)) if others else array
        found.array_task_id, found.array_task_string = number(task), ""
        return found

    def _start(self, job: FakeJob, only: list[str]) -> None:
        held = self.room(job, only)
        if held is None:
            job.state_reason = "Resources"
            return
        job.held, job.nodes = held, fold(held)
        job.job_state, job.state_reason = ["RUNNING"], "None"
        job.node_count = number(len(held))
        job.start_time = number(int(self.now()))
        if job.time_limit.set:
            job.end_time = number(job.start_time.number + 60 * job.time_limit.number)
        for name in held:
            self.settle(name)

    def room(
        self, job: FakeJob, only: Sequence[str] = (), without: Sequence[FakeJob] = ()
    ) -> dict[str, Held] | None:
        """What a job would get, were some others not there."""
        usable = [
            free(node, [user for user in self.users_of(node.name) if user not in without])
            for node in self.nodes.values()
            if _usable(node, job) and (not only or node.name in only)
        ]
        return allocated(job, usable)

    def look(self) -> list[FakeJob]:
        """Go through the queue: by priority, then by number; the answer is what starts."""
        waiting = [job for job in self.jobs.values() if job.job_state == ["PENDING"]]
        waiting.sort(key=lambda job: (-job.priority.number, job.job_id))
        before = self.jobs.keys() - {job.job_id for job in waiting}
        for job in waiting:
            if not job.hold:
                self.place(job, [])
        others = (job for job in self.jobs.values() if job.job_id not in before)
        started = [job for job in others if job.job_state == ["RUNNING"]]
        if started:
            self.touch("jobs")
        return started

    def end(self, job: FakeJob, state: str) -> None:
        names = expand(job.nodes)
        job.job_state = [state]
        job.end_time = number(int(self.now()))
        for name in names:
            self.settle(name)
        self.touch("jobs")

    def new_job(self) -> FakeJob:
        return self._add(FakeJob(job_state=["PENDING"]))

    def _add(self, job: FakeJob) -> FakeJob:
        job.job_id = self._next_job
        self._next_job += 1
        self.jobs[job.job_id] = job
        self.touch("jobs")
        return job


def changed(old: T, wanted: dict[str, Any]) -> T:
    """What was wanted, over what was there."""
    return convert(_merged(to_builtins(old), wanted), type(old))


def _merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _merged(old[key], new[key])
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict)
        else new.get(key, old.get(key))
        for key in old.keys() | new.keys()
    }


def number(value: float) -> wire.Number:
    return wire.Number(set=True, number=value)


def said(answer: wire.Answer, status: int = 200) -> Response:
    return Response(status, is_json=True, body=json.encode(answer))


def rejection(error: Rejected) -> Response:
    fault = wire.WireError(error.errno, f"Slurm's text of {error.errno}", "the fake said no")
    return said(wire.Answer(errors=[fault]), error.status)


def not_found() -> wire.Answer:
    """How slurmrestd says that it found no such node or reservation: 200 and no number."""
    return wire.Answer(errors=[wire.WireError(0, "No error", "Failure to query")])


def _usable(node: wire.WireNode, job: FakeJob) -> bool:
    words = set(node.state or ())
    there = not node.partitions or job.partition in ("", *node.partitions)
    return there and not words & {"DRAIN", "DOWN", "MAINTENANCE"}
