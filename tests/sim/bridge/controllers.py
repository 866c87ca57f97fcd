"""The controllers of workloads in one cluster: they make the pods, and make them anew."""

from dataclasses import dataclass, field
from typing import Any, Final

from tests.sim.bridge.objects import (
    GANG,
    LEAST,
    NAMESPACE,
    RANK,
    Amount,
    ended,
    label,
    leaving,
    lives,
    owned,
    pod_spec,
    wishes,
)
from windlass.bridge import words
from windlass.kube import kinds, requests
from windlass.kube.kinds import Kind
from windlass.kube.requests import Deletion
from windlass.kube.wire import Anything, Document
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key

Json = dict[str, Any]
MAIN: Final = "main"
SMALL: Final = Amount()


@dataclass(frozen=True)
class Shape:
    """How many pods, how large, on how many nodes at least."""

    size: int
    amount: Amount = SMALL
    min_nodes: int | None = None

    def template(self) -> Json:
        notes = wishes(min_nodes=self.min_nodes) if self.min_nodes else {}
        return {"metadata": {"annotations": notes}, "spec": pod_spec(self.amount)}

    def notes(self) -> Json:
        return wishes(min_nodes=self.min_nodes) if self.min_nodes else {}


@dataclass
class Controllers:
    kube: FakeKube
    jobs: dict[str, Shape] = field(default_factory=dict)
    sets: dict[str, Shape] = field(default_factory=dict)
    groups: dict[str, Shape] = field(default_factory=dict)
    """Of LeaderWorkerSets, one each."""
    _made: int = 0
    _attempts: dict[str, int] = field(default_factory=dict)

    def tick(self) -> None:
        for name, shape in self.jobs.items():
            if (job := self._find(kinds.JOB, name)) is not None:
                self._care_for_job(job, shape)
        for name, shape in self.sets.items():
            if (found := self._find(kinds.JOB_SET, name)) is not None:
                self._care_for_set(found, shape)
        for name, shape in self.groups.items():
            if (found := self._find(kinds.LEADER_WORKER_SET, name)) is not None:
                self._care_for_group(found, shape)

    def left(self) -> str | None:
        """A workload that has not done what it is for."""
        for kind, names in ((kinds.JOB, self.jobs), (kinds.JOB_SET, self.sets)):
            for name, shape in names.items():
                if self._find(kind, name) and self._succeeded(name) < shape.size:
                    return f"{kind.kind} {name} has not succeeded"
        return None

    def _succeeded(self, gang: str) -> int:
        over = [pod for pod in self._of(gang) if pod["status"].get("phase") == "Succeeded"]
        return len({label(pod, RANK) for pod in over if self._newest(gang, pod)})

    def _newest(self, gang: str, pod: Json) -> bool:
        attempt = label(pod, words.JOB_SET_ATTEMPT)
        return not attempt or int(attempt) == self._attempts.get(gang, 0)

    # --- Jobs --------------------------------------------------------------------------------

    def make_job(self, name: str, shape: Shape, *, indexed: bool) -> None:
        mode = "Indexed" if indexed else "NonIndexed"
        counts = {"parallelism": shape.size, "completions": shape.size, "completionMode": mode}
        self._create(kinds.JOB, name, {}, spec={**counts, "template": shape.template()})
        self.jobs[name] = shape

    def _care_for_job(self, job: Json, shape: Shape) -> None:
        """A place whose pod failed, or is being deleted, gets another."""
        name = job["metadata"]["name"]
        done = self._succeeded(name)
        if (job.get("status") or {}).get("succeeded", 0) != done:
            self._status(kinds.JOB, name, {"succeeded": done})
        for index in range(shape.size):
            if not any(_fills(pod, index) for pod in self._of(name)):
                labels = {words.COMPLETION_INDEX: str(index)}
                self._make(
                    _Place(name, f"{name}-{index}", index), shape, owned(kinds.JOB, job), labels
                )

    # --- JobSets -----------------------------------------------------------------------------

    def make_set(self, name: str, shape: Shape) -> None:
        counts = {"parallelism": shape.size, "completions": shape.size}
        job = {**counts, "completionMode": "Indexed", "template": shape.template()}
        jobs = [{"name": MAIN, "replicas": 1, "template": {"spec": job}}]
        self._create(kinds.JOB_SET, name, {}, spec={"replicatedJobs": jobs})
        self.sets[name] = shape

    def _care_for_set(self, found: Json, shape: Shape) -> None:
        """One failure, and all are made anew."""
        name = found["metadata"]["name"]
        job = f"{name}-{MAIN}-0"
        attempt = self._attempts.get(name, 0)
        current = [pod for pod in self._of(name) if self._newest(name, pod)]
        if any(not _well(pod) for pod in current):
            self._attempts[name] = attempt + 1
            if self._find(kinds.JOB, job) is not None:
                self._delete(kinds.JOB, job)
            return
        made = self._find(kinds.JOB, job)
        if made is None:
            spec = found["spec"]["replicatedJobs"][0]["template"]["spec"]
            self._create(
                kinds.JOB, job, {"ownerReferences": owned(kinds.JOB_SET, found)}, spec=spec
            )
            made = self._find(kinds.JOB, job)
        assert made is not None
        for index in range(shape.size - len(current) and shape.size):
            if not any(label(pod, RANK) == str(index) for pod in current):
                labels = {
                    words.COMPLETION_INDEX: str(index),
                    words.JOB_SET_NAME: name,
                    words.REPLICATED_JOB: MAIN,
                    words.JOB_INDEX: "0",
                    words.JOB_SET_ATTEMPT: str(attempt),
                }
                place = _Place(name, f"{job}-{index}", index)
                self._make(place, shape, owned(kinds.JOB, made), labels)

    # --- LeaderWorkerSets --------------------------------------------------------------------

    def make_group(self, name: str, shape: Shape, *, leader_first: bool) -> None:
        template = {"size": shape.size, "workerTemplate": shape.template()}
        policy = "LeaderReady" if leader_first else "LeaderCreated"
        spec = {"replicas": 1, "leaderWorkerTemplate": template, "startupPolicy": policy}
        self._create(kinds.LEADER_WORKER_SET, name, {}, spec=spec)
        self.groups[name] = shape

    def _care_for_group(self, found: Json, shape: Shape) -> None:
        """A leader, and workers once it is there; one of them fails, and all are made anew."""
        name = found["metadata"]["name"]
        pods = {pod["metadata"]["name"]: pod for pod in self._of(name)}
        leader = pods.get(f"{name}-0")
        if leader is None:
            if not pods:
                owners = owned(kinds.LEADER_WORKER_SET, found)
                self._member(name, 0, shape, owners)
            return
        if any(not _well(pod) or ended(pod) for pod in pods.values()):
            if not leaving(leader):
                how = Deletion(propagation="Foreground")
                self._delete(kinds.POD, f"{name}-0", how)
            return
        ready = leader["status"].get("phase") == "Running"
        if found["spec"]["startupPolicy"] == "LeaderCreated" or ready:
            for rank in range(1, shape.size):
                if f"{name}-0-{rank}" not in pods:
                    self._member(name, rank, shape, owned(kinds.POD, leader))

    def _member(self, name: str, rank: int, shape: Shape, owners: list[Json]) -> None:
        labels = {
            words.LEADER_WORKER_SET: name,
            words.GROUP_INDEX: "0",
            words.WORKER_INDEX: str(rank),
        }
        called = f"{name}-0-{rank}" if rank else f"{name}-0"
        self._make(_Place(name, called, rank, numbered=False), shape, owners, labels)

    # --- objects -----------------------------------------------------------------------------

    def _of(self, gang: str) -> list[Json]:
        pods = (pod for _, pod in self.kube.all(kinds.POD))
        return [pod for pod in pods if label(pod, GANG) == gang]

    def _make(self, place: "_Place", shape: Shape, owners: list[Json], labels: Json) -> None:
        self._made += 1
        name = f"{place.name}-{self._made}" if place.numbered else place.name
        own = {GANG: place.gang, RANK: str(place.rank), LEAST: str(shape.size)}
        labelled, notes = {**own, **labels}, shape.notes()
        meta: Json = {"labels": labelled, "annotations": notes, "ownerReferences": owners}
        self._create(kinds.POD, name, meta, spec=pod_spec(shape.amount))

    def _find(self, kind: Kind, name: str) -> Json | None:
        found = self.kube.find(kind, Key(NAMESPACE, name))
        return None if found is None or leaving(found) else found

    def _create(self, kind: Kind, name: str, meta: Json, **fields: Any) -> None:
        body = {"metadata": {"name": name, "namespace": NAMESPACE, **meta}, **fields}
        self.kube.answer(requests.create(kind, NAMESPACE, body, Document))

    def _delete(self, kind: Kind, name: str, how: Deletion | None = None) -> None:
        self.kube.answer(requests.delete(kind, Key(NAMESPACE, name), how or Deletion()))

    def _status(self, kind: Kind, name: str, status: Json) -> None:
        at, body = Key(NAMESPACE, name), {"status": status}
        self.kube.answer(requests.merge_patch(kind, at, body, Anything, "status"))


@dataclass(frozen=True)
class _Place:
    """Where in which gang a pod is to be."""

    gang: str
    name: str
    rank: int
    numbered: bool = True


def _fills(pod: Json, index: int) -> bool:
    here = label(pod, RANK) == str(index)
    return here and (lives(pod) or pod["status"].get("phase") == "Succeeded")


def _well(pod: Json) -> bool:
    return lives(pod) or (pod["status"].get("phase") == "Succeeded" and not leaving(pod))
