from typing import Any

import pytest

from tests.unit.operator.workers.observed import NOW, node_set, pod
from tests.unit.operator.workers.phases.courses import course, leaving, steps
from windlass.operator.plan import RequeueJobs
from windlass.operator.workers.course import NOTHING, Outcome
from windlass.operator.workers.phases.overdue import overdue
from windlass.slurm.model import Job, Node
from windlass.values.states import JobState, NodeState


def job(number: int, state: str = "RUNNING") -> Job:
    return Job(id=number, state=JobState.parse(state))


HELD = {"w-0": {"7": job(7), "8": job(8)}}


def looked(
    minutes: float,
    drain: dict[str, Any],
    found: Outcome | None = None,
    reason: str = "",
    jobs: dict[str, dict[str, Job]] = HELD,
) -> Outcome:
    node = Node(
        name="w-0",
        state=NodeState.parse("MIXED+DRAIN"),
        reason=reason or "slurm-operator: NodeSet (hpc/w) scales in",
        reason_at=int(NOW.timestamp() - minutes * 60),
    )
    of = node_set(replicas=0, drain=drain)
    chosen = leaving("w-0") if found is None else found
    return overdue(course(of, chosen, pods=(pod(0),), slurm={"w-0": node}, jobs=jobs))


def requeued(found: Outcome) -> list[int]:
    return [job for step in steps(found) if isinstance(step, RequeueJobs) for job in step.jobs]


def test_without_a_deadline_jobs_have_all_the_time_they_need() -> None:
    found = looked(100_000, {})

    assert (found.faults, found.actions, found.again) == ((), (), None)


def test_before_the_deadline_it_is_waited_for() -> None:
    assert looked(20, {"deadline": "30m"}).again == pytest.approx(600)


def test_after_the_deadline_it_is_told_and_jobs_go_on() -> None:
    found = looked(40, {"deadline": "30m"})

    assert [fault.code for fault in found.faults] == ["DrainOverdue"]
    assert requeued(found) == []


def test_jobs_are_requeued_only_where_the_user_said_so() -> None:
    assert requeued(looked(40, {"deadline": "30m", "requeueJobs": True})) == [7, 8]


def test_jobs_that_were_requeued_and_are_ending_are_not_requeued_again() -> None:
    ending = {"w-0": {"7": job(7, "PENDING,COMPLETING"), "8": job(8)}}

    found = looked(40, {"deadline": "30m", "requeueJobs": True}, jobs=ending)

    assert requeued(found) == [8]
    assert [fault.code for fault in found.faults] == ["DrainOverdue"]


@pytest.mark.parametrize(
    ("found", "reason"),
    [(NOTHING, ""), (leaving("w-0"), "fan")],
    ids=["a cordon is no reason to end jobs", "an administrator's drain is his"],
)
def test_jobs_on_other_workers_are_never_requeued(found: Outcome, reason: str) -> None:
    done = looked(40, {"deadline": "30m", "requeueJobs": True}, found, reason)

    assert (requeued(done), done.faults) == ([], ())
