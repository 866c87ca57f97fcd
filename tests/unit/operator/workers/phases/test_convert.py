import pytest

from tests.unit.operator.workers.host_pods import every_host, host_pod
from tests.unit.operator.workers.observed import NOW, node_set, observed, pod, slurm
from tests.unit.operator.workers.phases.courses import course, host, hosts
from tests.unit.operator.workers.test_plan import drained, made, removed
from windlass.api.node_set import NodeSet
from windlass.operator.workers.phases.convert import convert
from windlass.operator.workers.plan import plan

NUMBERED, HOSTED = pod(0, node="n1"), host_pod("n1")


@pytest.mark.parametrize(
    ("of", "leaves"),
    [(node_set(), HOSTED.metadata.name), (every_host(), "w-0")],
    ids=["numbered now", "on every host now"],
)
def test_workers_of_the_other_mode_leave(of: NodeSet, leaves: str) -> None:
    found = convert(course(of, pods=(NUMBERED, HOSTED)))

    assert {name: reason.code for name, reason in found.leave.items()} == {leaves: "ScalingMode"}


def test_from_numbers_to_hosts_a_worker_is_drained_removed_and_then_followed_by_another() -> None:
    there = hosts(host("n1"), host("n2"))
    pods = (pod(0, node="n1"),)

    busy = plan(observed(every_host(), hosts=there, pods=pods, slurm=slurm(w_0="MIXED")), NOW)
    assert drained(busy) == {"DRAIN": ["w-0"]}
    assert (removed(busy), made(busy)) == ([], [host_pod("n2").metadata.name])

    free = plan(observed(every_host(), hosts=there, pods=pods, slurm=slurm(w_0="IDLE+DRAIN")), NOW)
    assert removed(free) == ["w-0"]
    after = plan(observed(every_host(), hosts=there, pods=(host_pod("n2"),), slurm=slurm()), NOW)
    assert made(after) == [HOSTED.metadata.name]


def test_from_hosts_to_numbers_workers_of_hosts_take_no_number() -> None:
    of = node_set(replicas=2)
    done = plan(
        observed(of, pods=(HOSTED, host_pod("n2")), slurm=slurm(n1="MIXED", n2="IDLE")), NOW
    )

    assert drained(done) == {"DRAIN": ["n1", "n2"]}
    assert made(done) == ["w-0", "w-1"]
    assert removed(done) == []


def test_while_slurm_is_silent_all_stay() -> None:
    done = plan(observed(every_host(), hosts=hosts(host("n1")), pods=(NUMBERED,)), NOW)

    assert (removed(done), drained(done), made(done)) == ([], {}, [])


def test_one_of_the_other_mode_that_ended_is_removed() -> None:
    ended = pod(0, node="n1", phase="Failed")
    done = plan(observed(every_host(), hosts=hosts(host("n1")), pods=(ended,)), NOW)

    assert removed(done) == ["w-0"]
