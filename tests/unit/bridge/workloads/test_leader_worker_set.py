from collections.abc import Sequence
from typing import Any

from tests.unit.bridge.builders import alike, leader_worker_set, other, pod, slurm
from windlass.bridge.devices import DEFAULT
from windlass.bridge.gang import Gang
from windlass.bridge.workloads import leader_worker_set as kind
from windlass.bridge.workloads.objects import LeaderWorkerSet
from windlass.bridge.workloads.surroundings import Owner, Surroundings
from windlass.kube.meta import PartialObject
from windlass.kube.objects import Pod


def member(rank: int, group: int = 0, **given: Any) -> Pod:
    labels = {
        "leaderworkerset.sigs.k8s.io/group-index": str(group),
        "leaderworkerset.sigs.k8s.io/worker-index": str(rank),
    }
    return pod(f"lws-{group}-{rank}" if rank else f"lws-{group}", labels=labels, **given)


def together(found: LeaderWorkerSet, pods: Sequence[Pod]) -> Gang:
    around = Surroundings((Owner("LeaderWorkerSet", found),))
    return kind.gang(pods, alike(around), DEFAULT)


def test_a_group_is_a_gang_with_its_leader_first() -> None:
    gang = together(leader_worker_set(3), [member(2, 1), member(0, 1), member(1, 1)])
    assert str(gang.key) == "LeaderWorkerSet team/lws/1"
    assert [key.name for key in gang.pods] == ["lws-1", "lws-1-1", "lws-1-2"]
    assert (gang.name, gang.least, gang.most, gang.waits) == ("lws-1", 3, 3, None)


def test_the_attempt_is_the_leader_so_that_a_group_made_anew_is_another_job() -> None:
    first = together(leader_worker_set(1), [member(0, uid="one")])
    second = together(leader_worker_set(1), [member(0, uid="two")])
    assert (first.key, first.uid) == (second.key, second.uid)
    assert (first.attempt, second.attempt) == ("one", "two")


def test_a_group_waits_for_its_workers_and_its_leader() -> None:
    found = leader_worker_set(3)
    assert str(together(found, [member(0), member(1)]).waits) == (
        "PodsMissing: 2 of 3 pods are there"
    )
    assert str(together(found, [member(0, leaving=True), member(1)]).waits) == (
        "LeaderMissing: the leader of the group is not there"
    )


def test_workers_that_come_after_a_ready_leader_have_their_places_kept() -> None:
    found = leader_worker_set(3, cpus=4, spec={"startupPolicy": "LeaderReady"})
    gang = together(found, [member(0)])
    assert gang.waits is None
    assert [(each.index, each.needs.cpus) for each in gang.members] == [(0, 1), (1, 4), (2, 4)]
    assert len(gang.pods) == 1


def test_a_group_has_the_size_that_it_was_made_with() -> None:
    said = {"leaderworkerset.sigs.k8s.io/size": "2"}
    gang = together(leader_worker_set(4), [member(0, annotations=said), member(1)])
    assert (gang.least, gang.waits) == (2, None)


def test_what_stands_on_the_leader_counts_as_its_own_and_not_as_an_owner_s() -> None:
    found = Owner("LeaderWorkerSet", leader_worker_set(1))
    leader = member(0, annotations=slurm(qos="q"))
    above = Owner("Pod", PartialObject(metadata=leader.metadata))
    around = Surroundings((other("StatefulSet"), above, other("StatefulSet"), found))
    assert "q" not in [reading.wishes.qos for _, reading in around.readings()]
    assert together(leader_worker_set(1), [leader]).own_wishes.qos == "q"
