"""Which gang a pod belongs to, whatever comes first."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

import msgspec
import pytest

from windlass.bridge import words
from windlass.bridge.gang import GangKey
from windlass.bridge.workloads.objects import Job, JobSet, PodGroup
from windlass.bridge.world import OPTIONAL, World, watches
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.objects import Pod
from windlass.kube.reflector import Mirror
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key

VERSION = count(1)
INDEXED: dict[str, Any] = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}


class Stage:
    def __init__(self, served: tuple[Kind, ...] = OPTIONAL) -> None:
        self.watched = watches(words.SCHEDULER, served)
        kube = FakeKube(lambda: datetime(2026, 7, 1, tzinfo=UTC))
        self.mirror = Mirror(kube, self.watched)
        self.woken: list[GangKey] = []
        self.world = World(self.mirror, self.watched, self.woken.append)

    def pod(self, name: str, owner: str = "", **meta: Any) -> None:
        """`owner` as `Kind name`; the name is its UID as well."""
        body = {"metadata": _meta(name, owner, **meta)}
        self.world.pods.put(msgspec.convert(body, Pod))

    def put(self, kind: Kind, struct: Any, name: str, owner: str = "", **spec: Any) -> None:
        body = {"metadata": _meta(name, owner), "spec": spec}
        self.mirror.store(self.watched.around[kind]).put(msgspec.convert(body, struct))

    def gang(self, key: GangKey) -> list[str]:
        return [pod.metadata.name for pod in self.world.gang(key)]


VERSIONS = {"Pod": "v1", "Job": "batch/v1", "JobSet": "jobset.x-k8s.io/v1alpha2", "Volcano": "v/v1"}


def _meta(name: str, owner: str, **more: Any) -> dict[str, Any]:
    kind, _, above = owner.partition(" ")
    reference = {"kind": kind, "name": above, "uid": above, "controller": True}
    owners = [{**reference, "apiVersion": VERSIONS[kind]}] if owner else None
    return {
        "name": name,
        "namespace": "team",
        "uid": name,
        "resourceVersion": str(next(VERSION)),
        "ownerReferences": owners,
        **more,
    }


GONE = {"deletionTimestamp": "2026-07-01T00:00:00Z"}


def _place(node: str, **given: Any) -> dict[str, Any]:
    status = {"phase": given.pop("phase", "Pending")}
    return {"metadata": _meta("p", "", **given), "spec": {"nodeName": node}, "status": status}


def test_a_pod_moves_to_its_gang_when_its_owners_are_seen() -> None:
    stage = Stage()
    alone, job = GangKey("Pod", "team", "p"), GangKey("Job", "team", "j")
    whole = GangKey("JobSet", "team", "s")
    stage.pod("p", "Job j")
    assert stage.gang(alone) == ["p"]
    assert stage.world.around(stage.world.gang(alone)[0]).missing == "Job j"
    stage.put(kinds.JOB, Job, "j", "JobSet s", **INDEXED)
    assert (stage.gang(alone), stage.gang(job)) == ([], ["p"])
    stage.put(kinds.JOB_SET, JobSet, "s", replicatedJobs=[{"name": "r"}])
    assert (stage.gang(job), stage.gang(whole)) == ([], ["p"])
    assert {alone, job, whole} <= {*stage.woken}


def test_a_change_of_an_owner_wakes_the_gang_and_no_other() -> None:
    stage = Stage()
    stage.put(kinds.JOB, Job, "j", **INDEXED)
    stage.pod("p", "Job j")
    stage.pod("other")
    stage.woken.clear()
    stage.put(kinds.JOB, Job, "j", **INDEXED, suspend=True)
    stage.put(kinds.JOB, Job, "jj", **INDEXED)
    assert stage.woken == [GangKey("Job", "team", "j")]


def test_a_pod_that_goes_leaves_its_gang_and_wakes_it() -> None:
    stage = Stage()
    stage.put(kinds.JOB, Job, "j", **INDEXED)
    stage.pod("p", "Job j")
    stage.woken.clear()
    stage.world.pods.remove(Key("team", "p"))
    assert stage.woken == [GangKey("Job", "team", "j")]
    assert stage.world.gangs() == []


@pytest.mark.parametrize("served", [OPTIONAL, ()])
def test_a_group_counts_only_where_its_kind_is_served(served: tuple[Kind, ...]) -> None:
    stage = Stage(served)
    stage.pod("p", labels={words.POD_GROUP: "g"})
    if served:
        stage.put(kinds.POD_GROUP, PodGroup, "g", minMember=1)
    found = stage.world.around(next(iter(stage.world.pods))).pod_group
    assert (found is not None) == bool(served)


def test_pods_are_found_by_job_and_by_node() -> None:
    stage = Stage()
    stage.pod("p", labels={words.JOB_ID: "12"})
    stage.pod("q", labels={words.JOB_ID: "no number"})
    stage.pod("r", annotations={words.JOB_ID: "12"})
    stage.pod("s", labels={words.JOB_ID: "13"}, annotations={words.JOB_ID: "12"})
    assert [pod.metadata.name for pod in stage.world.of_job(12)] == ["p", "r"]
    assert stage.world.on("n1") == []


HELD = {"finalizers": [words.FINALIZER]}
NOTED = {"annotations": {words.JOB_ID: "7"}, "labels": {words.JOB_ID: "7"}}
RUNS = {"phase": "Running"}


@pytest.mark.parametrize(
    ("before", "after", "wakes"),
    [
        (_place(""), _place("", labels={"a": "b"}), True),
        (_place(""), _place("n1"), True),
        (_place(""), _place("n1", **NOTED), False),
        (_place("", uid="of before"), _place("n1", **NOTED), True),
        (_place(""), _place("n1", **NOTED, **HELD), True),
        (_place("n1", **NOTED), _place("n1", **NOTED, **RUNS), False),
        (_place("n1", **NOTED), _place("n1", **NOTED, **HELD), False),
        (_place("n1", **NOTED), _place("n1", **NOTED, finalizers=["of/others"]), True),
        (_place("n1", **NOTED, **HELD), _place("n1", **NOTED), True),
        (_place("n1", **NOTED, **HELD), _place("n1", **HELD), True),
        (_place("n1", **NOTED, **HELD), _place("n1", **NOTED, **HELD, **GONE), True),
        (_place("n1", **NOTED, **HELD), _place("n1", **NOTED, **HELD, phase="Failed"), True),
        (
            _place("n1", **NOTED, **HELD, phase="Failed"),
            _place("n1", **NOTED, **HELD, phase="Failed"),
            True,
        ),
    ],
)
def test_a_pod_that_goes_on_in_its_place_wakes_nobody(
    before: dict[str, Any], after: dict[str, Any], wakes: bool
) -> None:
    stage = Stage()
    stage.world.pods.put(msgspec.convert(before, Pod))
    stage.woken.clear()
    stage.world.pods.put(msgspec.convert(after, Pod))
    assert bool(stage.woken) == wakes


def test_what_is_around_a_pod_is_looked_up_anew_when_it_changes() -> None:
    stage = Stage()
    stage.put(kinds.JOB, Job, "j", **INDEXED)
    stage.pod("p", "Job j")
    (pod,) = stage.world.gang(GangKey("Job", "team", "j"))
    around = stage.world.around(pod)
    assert stage.world.around(pod) is around
    stage.put(kinds.JOB, Job, "j", **INDEXED, activeDeadlineSeconds=60)
    job = stage.world.around(pod).owner(Job)
    assert job is not None
    assert job.spec.active_deadline_seconds == 60


def test_a_pod_that_owns_another_is_looked_up_each_time() -> None:
    stage = Stage()
    stage.pod("leader", labels={"size": "1"})
    stage.pod("follower", "Pod leader")
    (pod,) = stage.world.gang(GangKey("Pod", "team", "follower"))
    stage.pod("leader", labels={"size": "2"})
    (leader,) = stage.world.around(pod).owners
    assert leader.object.metadata.labels == {"size": "2"}
