from datetime import datetime, timedelta

import pytest

from tests.unit.operator.workers.observed import NOW, node_set, pod, slurm
from tests.unit.operator.workers.phases.courses import course, steps
from windlass.api.node_set import NodeSet
from windlass.kube.objects import Pod
from windlass.operator.plan import Retire
from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.phases.register import register


def ago(**time: float) -> str:
    return (NOW - timedelta(**time)).isoformat()


def replaced(found: Outcome) -> list[str]:
    return [
        pod.key.name
        for step in steps(found)
        if isinstance(step, Retire) and step.unknown
        for pod in step.pods
    ]


def test_a_worker_that_slurm_knows_is_left_alone() -> None:
    found = register(course(pods=(pod(0),), slurm=slurm(w_0="DOWN")))

    assert (replaced(found), found.faults, found.again) == ([], (), None)


def test_a_worker_gets_its_time_to_register() -> None:
    found = register(course(pods=(pod(0, since=ago(seconds=20)),), slurm={}))

    assert (replaced(found), found.faults, found.again) == ([], (), 40.0)


def test_one_that_is_ready_but_unknown_is_replaced_and_that_is_told() -> None:
    found = register(course(pods=(pod(0),), slurm={}))

    assert replaced(found) == ["w-0"]
    assert [fault.code for fault in found.faults] == ["SlurmNodeNotRegistered"]


@pytest.mark.parametrize(
    "one",
    [pod(0, ready=False), pod(0, going=True), pod(0, phase="Failed")],
    ids=["not ready", "going", "ended"],
)
def test_whoever_does_not_work_anyway_is_no_matter_of_registration(one: Pod) -> None:
    assert replaced(register(course(pods=(one,), slurm={}))) == []


def test_silence_is_not_ignorance() -> None:
    assert replaced(register(course(pods=(pod(0),), slurm=None))) == []


def test_a_slurm_that_lost_all_its_nodes_gets_them_back_a_few_at_a_time() -> None:
    pods = tuple(pod(ordinal) for ordinal in range(40))

    assert len(replaced(register(course(node_set(replicas=40), pods=pods, slurm={})))) == 4


def troubled(since: datetime) -> NodeSet:
    condition = {
        "type": "Registered",
        "status": "False",
        "reason": "x",
        "message": "x",
        "lastTransitionTime": since.isoformat(),
    }
    return node_set(status={"conditions": [condition]}, replicas=2)


@pytest.mark.parametrize(
    ("lasts", "last_start", "expected"),
    [
        (timedelta(minutes=1), timedelta(seconds=50), []),
        (timedelta(minutes=1), timedelta(seconds=61), ["w-0"]),
        (timedelta(minutes=20), timedelta(minutes=9), []),
        (timedelta(minutes=20), timedelta(minutes=11), ["w-0"]),
    ],
    ids=["at first a minute", "and then again", "later half of the time", "and then again later"],
)
def test_the_longer_it_lasts_the_rarer_it_is_tried(
    lasts: timedelta, last_start: timedelta, expected: list[str]
) -> None:
    youngest = (NOW - last_start).isoformat()
    pods = (pod(0), pod(1, created=youngest, since=youngest))
    of: Pass = course(troubled(NOW - lasts), pods=pods, slurm=slurm(w_1="IDLE"))

    assert replaced(register(of)) == expected
