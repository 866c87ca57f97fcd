import pytest

from tests.unit.operator.workers.observed import pod, worker
from windlass.api import labels
from windlass.kube.objects import Pod
from windlass.operator.workers.ranking import rank
from windlass.operator.workers.worker import Worker
from windlass.slurm.model import Job, Node
from windlass.values.states import NodeState


def noted(ordinal: int, annotation: str, value: str) -> Pod:
    return pod(ordinal, annotations={annotation: value})


COST, DEADLINE, CORDON = labels.POD_DELETION_COST, labels.POD_DEADLINE, labels.POD_CORDON


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod(0, node=""), pod(1, ready=False)),
        (pod(0, phase="Pending", ready=False), pod(1, phase="Unknown", ready=False)),
        (pod(0, phase="Unknown"), pod(1)),
        (pod(0, ready=False), pod(1)),
        (noted(0, COST, "-1"), pod(1)),
        (pod(0), noted(1, COST, "5")),
        (pod(1), noted(0, COST, "+1")),
        (pod(1), noted(0, COST, "-99999999999")),
        (pod(0), noted(1, DEADLINE, "2026-07-01T13:00:00Z")),
        (noted(0, DEADLINE, "2026-07-01T13:00:00Z"), noted(1, DEADLINE, "2026-07-02T13:00:00Z")),
        (noted(0, DEADLINE, "2026-07-01T13:00:00Z"), noted(1, DEADLINE, "soon")),
        (noted(0, CORDON, "true"), pod(1)),
        (pod(3), pod(2)),
        (pod(0, since="2026-07-01T11:30:00Z"), pod(0)),
        (pod(0, created="2026-07-01T10:30:00Z"), pod(0)),
    ],
    ids=[
        "on no node",
        "pending before unknown",
        "unknown before running",
        "not ready",
        "cheap",
        "not dear",
        "a cost with a plus is none",
        "a cost out of range is none",
        "no job",
        "its jobs end sooner",
        "a deadline that cannot be read is far",
        "cordoned",
        "higher number",
        "ready for a shorter time",
        "younger",
    ],
)
def test_the_worker_that_loses_least_goes_first(first: Pod, second: Pod) -> None:
    assert rank(worker(first)) < rank(worker(second))


def state(said: str) -> Node:
    return Node(name="w", state=NodeState.parse(said))


def job(number: int, ends_at: int | None) -> Job:
    return Job(id=number, ends_at=ends_at)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (worker(pod(0), state("IDLE")), worker(pod(1), state("MIXED"))),
        (
            worker(pod(0), state("MIXED"), job(1, 100)),
            worker(pod(1), state("MIXED"), job(2, 90), job(3, 110)),
        ),
        (
            worker(pod(0), state("MIXED"), job(1, 100)),
            worker(pod(1), state("MIXED"), job(2, None)),
        ),
        (worker(pod(0), state("IDLE+DRAIN")), worker(pod(1), state("IDLE"))),
        (worker(pod(0), state("IDLE")), worker(pod(1, ready=False), state("MIXED"), job(1, 100))),
    ],
    ids=[
        "idle",
        "its last job ends sooner",
        "its job ends at all",
        "drained",
        "the other is not ready yet but has a job",
    ],
)
def test_what_slurm_says_counts_before_numbers(first: Worker, second: Worker) -> None:
    assert rank(first) < rank(second)


def test_who_was_chosen_before_stays_chosen_though_its_jobs_take_longer() -> None:
    chosen = worker(pod(0), state("MIXED+DRAIN"), job(1, 900))
    other = worker(pod(1), state("MIXED"), job(2, 100))

    idle = worker(pod(2), state("IDLE"))

    assert rank(idle) < rank(chosen, condemned=True) < rank(other) < rank(chosen)
