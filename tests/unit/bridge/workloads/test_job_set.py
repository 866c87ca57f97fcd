from collections.abc import Sequence
from typing import Any

from tests.unit.bridge.builders import alike, indexed, job, job_set, replicated, slurm
from windlass.bridge.devices import DEFAULT
from windlass.bridge.gang import Gang
from windlass.bridge.workloads import job_set as kind
from windlass.bridge.workloads.objects import JobSet
from windlass.bridge.workloads.surroundings import Owner, Surroundings
from windlass.kube.objects import Pod

ORDERED = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}


def member(name: str, job_index: int, index: int, attempt: int = 0, **given: Any) -> Pod:
    labels = {
        "jobset.sigs.k8s.io/replicatedjob-name": name,
        "jobset.sigs.k8s.io/job-index": str(job_index),
        "jobset.sigs.k8s.io/restart-attempt": str(attempt),
    }
    return indexed(f"{name}-{job_index}-{attempt}", index, labels=labels, **given)


def together(found: JobSet, pods: Sequence[Pod]) -> Gang:
    around = Surroundings((Owner("Job", job()), Owner("JobSet", found)))
    gang = kind.gang(pods, alike(around), DEFAULT)
    assert kind.key(pods[0], around) == gang.key
    return gang


def ranks(found: Gang) -> list[tuple[int, str | None]]:
    return [(each.index, each.pod.name if each.pod else None) for each in found.members]


def test_ranks_follow_replicated_job_then_job_then_index() -> None:
    found = job_set(replicated("driver", 1, cpus=2), replicated("workers", 2, replicas=2))
    pods = [
        member("workers", 1, 1),
        member("workers", 1, 0),
        member("workers", 0, 1),
        member("driver", 0, 0, cpus=2),
        member("workers", 0, 0),
    ]
    gang = together(found, pods)
    assert ranks(gang) == [
        (0, "driver-0-0-0"),
        (1, "workers-0-0-0"),
        (2, "workers-0-0-1"),
        (3, "workers-1-0-0"),
        (4, "workers-1-0-1"),
    ]
    assert (gang.least, gang.most, gang.waits) == (5, 5, None)
    assert (gang.name, gang.uid, gang.attempt) == ("set", "uid-set", "0")


def test_all_pods_are_waited_for() -> None:
    found = job_set(replicated("a", 2), replicated("b", 1))
    gang = together(found, [member("a", 0, 0), member("b", 0, 0)])
    assert str(gang.waits) == "PodsMissing: 2 of 3 pods are there"


def test_who_has_succeeded_is_not_waited_for() -> None:
    found = job_set(replicated("a", 3))
    over = member("a", 0, 1, phase="Succeeded")
    gang = together(found, [member("a", 0, 0), member("a", 0, 2), over])
    assert gang.waits is None
    assert (gang.least, gang.done) == (2, 1)
    assert [rank for rank, _ in ranks(gang)] == [0, 2]


def test_places_are_kept_for_jobs_that_start_when_others_are_ready() -> None:
    found = job_set(replicated("driver", 1), replicated("workers", 2, cpus=4), spec=ORDERED)
    gang = together(found, [member("driver", 0, 0)])
    assert gang.waits is None
    assert ranks(gang) == [(0, "driver-0-0-0"), (1, None), (2, None)]
    assert [each.needs.cpus for each in gang.members] == [1, 4, 4]
    assert gang.least == 3


def test_a_dependency_on_readiness_keeps_places_as_well() -> None:
    after = [{"name": "driver", "status": "Ready"}]
    found = job_set(replicated("driver", 1), replicated("workers", 1, dependsOn=after))
    gang = together(found, [member("driver", 0, 0)])
    assert gang.waits is None
    assert ranks(gang) == [(0, "driver-0-0-0"), (1, None)]


def test_what_waits_for_the_end_of_another_is_a_gang_of_its_own() -> None:
    after = [{"name": "prepare", "status": "Complete"}]
    found = job_set(replicated("prepare", 1), replicated("train", 2, dependsOn=after))
    first = together(found, [member("prepare", 0, 0)])
    second = together(found, [member("train", 0, 0), member("train", 0, 1)])
    assert (str(first.key), first.least, first.waits) == ("JobSet team/set/prepare", 1, None)
    assert (str(second.key), second.least, second.waits) == ("JobSet team/set/train", 2, None)
    assert second.name == "set-train"


def test_a_restart_is_another_attempt_and_forgets_the_pods_of_the_former() -> None:
    found = job_set(replicated("a", 2))
    pods = [member("a", 0, 0), member("a", 0, 0, 1), member("a", 0, 1, 1)]
    gang = together(found, pods)
    assert gang.attempt == "1"
    assert ranks(gang) == [(0, "a-0-1-0"), (1, "a-0-1-1")]


def test_one_limit_for_all_jobs_is_the_longest_if_all_have_one() -> None:
    short = {"activeDeadlineSeconds": 60}
    long = {"activeDeadlineSeconds": 600}
    pods = [member("a", 0, 0), member("b", 0, 0)]
    both = job_set(replicated("a", 1, spec=short), replicated("b", 1, spec=long))
    one = job_set(replicated("a", 1, spec=short), replicated("b", 1))
    assert together(both, pods).time_limit == 10
    assert together(one, pods).time_limit is None


def test_jobs_of_a_set_that_ask_for_different_slurm_jobs_are_refused() -> None:
    found = job_set(replicated("driver", 1), replicated("workers", 1))
    pods = [member("workers", 0, 0), member("driver", 0, 0)]
    jobs = {"driver-0-0-0": slurm(partition="cpu"), "workers-0-0-0": slurm(partition="gpu")}

    def around(pod: Pod) -> Surroundings:
        owner = job(pod.metadata.name, annotations=jobs[pod.metadata.name])
        return Surroundings((Owner("Job", owner), Owner("JobSet", found)))

    gangs = [kind.gang(order, around, DEFAULT) for order in (pods, pods[::-1])]
    assert gangs[0] == gangs[1]
    assert [one.sentence for one in gangs[0].problems] == [
        "pods driver-0-0-0 and workers-0-0-0 are one Slurm job and differ in partition"
    ]
    assert gangs[0].wishes.partition == "cpu"
