"""The kubelets of one cluster: pods that are bound start, run, end, are stopped and are lost."""

from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.sim.bridge.objects import GPU, amount_of, ended, host, label, leaving, total
from tests.sim.transcript import Transcript
from windlass.bridge import words
from windlass.kube import kinds, requests
from windlass.kube.errors import KubeError
from windlass.kube.requests import Deletion
from windlass.kube.wire import Anything
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key

Json = dict[str, Any]

EVICTED: Final = 50.0
"""Seconds after which Kubernetes deletes the pods of a node that is not heard of."""
MISSED: Final = 40.0
"""And those of one that is no more."""
UNREACHABLE: Final = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
KILLED: Final = 143
FOR_EVER: Final = 1e9


@dataclass
class Life:
    """What chance has in store for one pod, and how far it is."""

    node: str
    starts_at: float
    lasts: float
    code: int
    stop_after: float
    runs: bool = False
    """Whether its containers do, whatever anybody is told."""
    ends_at: float | None = None
    gone_at: float | None = None
    missing_since: float | None = None


@dataclass
class Kubelets:
    kube: FakeKube
    transcript: Transcript
    rng: Random
    lost: set[str] = field(default_factory=set)
    """Nodes that are not heard of; what runs there goes on."""
    calm: bool = False
    """Whether nothing fails any more."""
    lives: dict[str, Life] = field(default_factory=dict)

    def tick(self, now: float) -> None:
        there = set()
        for key, pod in self.kube.all(kinds.POD):
            there.add(pod["metadata"]["uid"])
            if host(pod):
                self._care(key, pod, now)
        for uid in [uid for uid in self.lives if uid not in there]:
            if self.lives[uid].node not in self.lost:
                del self.lives[uid]

    def _care(self, key: Key, pod: Json, now: float) -> None:
        uid, node = pod["metadata"]["uid"], host(pod)
        life = self.lives.get(uid) or self._born(uid, node, now)
        if node in self.lost or self._node(node) is None:
            self._miss(key, pod, life, now)
            return
        life.missing_since = None
        if ended(pod):
            self._remove(key, pod)
        elif leaving(pod):
            self._stop(key, pod, life, now)
        elif life.ends_at is None:
            self._start(key, pod, life, now)
        elif now >= life.ends_at:
            self._end(key, life, 0 if self.calm else life.code)

    def _born(self, uid: str, node: str, now: float) -> Life:
        life = Life(
            node=node,
            starts_at=now + self.rng.choice((0.0, 0.5, 2.0)),
            lasts=self.rng.choice((1.0, 4.0, 15.0, 40.0)),
            code=self.rng.choice((0, 0, 0, 1)),
            stop_after=self.rng.choice((0.0, 1.0, 6.0, 25.0)),
        )
        self.lives[uid] = life
        return life

    def _start(self, key: Key, pod: Json, life: Life, now: float) -> None:
        """Servers run until somebody stops them."""
        if now < life.starts_at:
            return
        if self._lacks(pod, life.node):
            life.ends_at = now
            self._write(key, {"phase": "Failed", "reason": f"OutOf{GPU}"})
            return
        serves = bool(label(pod, words.LEADER_WORKER_SET))
        life.runs, life.ends_at = True, FOR_EVER if serves else now + life.lasts
        self._show(key, "Running")

    def _lacks(self, pod: Json, name: str) -> bool:
        """Whether the node has not the GPUs that a pod is to have, beside those that run there."""
        node = self._node(name)
        assert node is not None
        there = (each for _, each in self.kube.all(kinds.POD) if self._runs(each, name))
        used = total((*there, pod)).gpus
        return bool(amount_of(pod).gpus) and used > int(node["status"]["allocatable"].get(GPU, 0))

    def _runs(self, pod: Json, node: str) -> bool:
        life = self.lives.get(pod["metadata"]["uid"])
        return life is not None and life.runs and life.node == node

    def _end(self, key: Key, life: Life, code: int) -> None:
        life.runs = False
        self._show(key, "Failed" if code else "Succeeded", code)

    def _stop(self, key: Key, pod: Json, life: Life, now: float) -> None:
        if life.gone_at is None:
            grace = pod["metadata"].get("deletionGracePeriodSeconds", 0)
            life.gone_at = now + min(life.stop_after, grace)
        if now >= life.gone_at:
            self._end(key, life, KILLED)
            self._remove(key, pod)

    def _remove(self, key: Key, pod: Json) -> None:
        if leaving(pod):
            self._delete(key, Deletion(uid=pod["metadata"]["uid"], grace_seconds=0))

    def _miss(self, key: Key, pod: Json, life: Life, now: float) -> None:
        """Others delete what is on a node that is not heard of; nobody says that it has ended."""
        if life.missing_since is None:
            life.missing_since = now
        gone = self._node(life.node) is None
        if gone and now >= life.missing_since + MISSED:
            self._delete(key, Deletion(grace_seconds=0))
        elif not gone and now >= life.missing_since + EVICTED and not leaving(pod):
            self._delete(key, Deletion())

    def _delete(self, key: Key, how: Deletion) -> None:
        try:
            self.kube.answer(requests.delete(kinds.POD, key, how))
        except KubeError as error:
            self.transcript.say("kubelet", f"cannot end {key.name}: {error}")

    def _show(self, key: Key, phase: str, code: int = 0) -> None:
        state = {"terminated": {"exitCode": code}} if phase != "Running" else {"running": {}}
        self._write(key, {"phase": phase, "containerStatuses": [{"name": "c", "state": state}]})

    def _write(self, key: Key, status: Json) -> None:
        body = {"status": status}
        self.kube.answer(requests.merge_patch(kinds.POD, key, body, Anything, "status"))

    # --- nodes -------------------------------------------------------------------------------

    def _node(self, name: str) -> Json | None:
        return self.kube.find(kinds.NODE, Key("", name))

    def lose(self, node: str) -> None:
        self.lost.add(node)
        self.mark(node, "Ready", "Unknown")

    def remove(self, node: str, now: float) -> None:
        """The machine is no more, and whatever ran there; one of the same name tells of it."""
        self.lost.add(node)
        for life in self.lives.values():
            if life.node == node:
                life.runs, life.ends_at, life.gone_at = False, now, now

    def restore(self, node: str, now: float) -> None:
        """Its kubelet is back: first it stops what was taken away meanwhile."""
        there = {pod["metadata"]["uid"] for _, pod in self.kube.all(kinds.POD)}
        for uid in [uid for uid, life in self.lives.items() if life.node == node]:
            if uid not in there:
                del self.lives[uid]
        self.lost.discard(node)
        self.mark(node, "Ready", "True")

    def mark(self, node: str, condition: str, status: str) -> None:
        """Set a condition; a node that is not ready is tainted, too."""
        found = self._node(node)
        if found is None:
            return
        shown = {each["type"]: each for each in found["status"].get("conditions") or ()}
        shown[condition] = {
            "type": condition,
            "status": status,
            "lastTransitionTime": self.kube.time(),
        }
        body = {"status": {"conditions": list(shown.values())}}
        at = Key("", node)
        self.kube.answer(requests.merge_patch(kinds.NODE, at, body, Anything, "status"))
        taints = [UNREACHABLE] if shown["Ready"]["status"] != "True" else None
        change = {"spec": {"taints": taints}}
        self.kube.answer(requests.merge_patch(kinds.NODE, at, change, Anything))
