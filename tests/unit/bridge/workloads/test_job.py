from collections.abc import Sequence

import pytest

from tests.unit.bridge.builders import alike, gang_job, indexed, job, pod, slurm
from windlass.bridge.devices import DEFAULT
from windlass.bridge.gang import Gang
from windlass.bridge.workloads.job import gang
from windlass.bridge.workloads.objects import Job
from windlass.bridge.workloads.surroundings import Owner, Surroundings
from windlass.kube.objects import Pod


def together(owner: Job, pods: Sequence[Pod]) -> Gang:
    return gang(pods, alike(Surroundings((Owner("Job", owner),))), DEFAULT)


def test_ranks_are_completion_indices_whatever_the_order_of_the_pods() -> None:
    found = together(gang_job(3), [indexed("b", 2), indexed("a", 0), indexed("c", 1)])
    assert [(m.index, m.pod and m.pod.name) for m in found.members] == [
        (0, "a-0"),
        (1, "c-1"),
        (2, "b-2"),
    ]
    assert (found.least, found.most, found.waits) == (3, 3, None)


def test_pods_without_an_index_go_by_name_and_number() -> None:
    owner = job(parallelism=3, annotations=slurm(gang="true"))
    found = together(owner, [pod("w-10"), pod("w-9"), pod("w-100")])
    assert [key.name for key in found.pods] == ["w-9", "w-10", "w-100"]


@pytest.mark.parametrize(
    ("job", "there", "waits"),
    [
        (gang_job(3), 2, "PodsMissing: 2 of 3 pods are there"),
        (gang_job(3), 3, "None"),
        (gang_job(3, succeeded=1), 2, "None"),
        (gang_job(3, succeeded=1), 1, "PodsMissing: 1 of 2 pods are there"),
    ],
)
def test_nobody_is_submitted_before_all_are_there(job: Job, there: int, waits: str) -> None:
    found = together(job, [indexed("p", i) for i in range(there)])
    assert str(found.waits) == waits


def test_pods_that_ended_or_are_leaving_take_no_place() -> None:
    pods = [
        indexed("old", 0, phase="Failed"),
        indexed("new", 0),
        indexed("gone", 1, leaving=True),
        indexed("next", 1),
        indexed("done", 1, phase="Succeeded"),
    ]
    found = together(gang_job(2), pods)
    assert [key.name for key in found.pods] == ["new-0", "next-1"]


def test_a_job_that_is_never_whole_cannot_be_a_gang() -> None:
    owner = job(parallelism=2, completions=8, annotations=slurm(gang="true"))
    found = together(owner, [pod("a"), pod("b")])
    assert [one.sentence for one in found.problems] == ["2 of 8 pods never all start together"]


def test_pods_of_one_gang_that_ask_for_different_jobs_are_refused() -> None:
    pods = [
        indexed("p", 0, annotations=slurm(qos="a", account="x")),
        indexed("p", 1, annotations=slurm(qos="b")),
    ]
    (found,) = together(gang_job(2), pods).problems
    assert found.sentence == "pods p-0 and p-1 are one Slurm job and differ in account, qos"


def test_the_same_mistake_of_all_pods_is_told_once() -> None:
    found = together(gang_job(3), [indexed("p", i, annotations=slurm(qos="")) for i in range(3)])
    assert len(found.findings) == 1


def test_the_deadline_is_the_job_s() -> None:
    pods = [indexed("p", i) for i in range(2)]
    assert together(gang_job(2, activeDeadlineSeconds=90), pods).time_limit == 2
