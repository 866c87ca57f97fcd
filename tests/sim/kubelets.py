"""A scheduler and the kubelets of all nodes: worker pods get a node, start, stop and are lost."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any, Final

from tests.sim.slurmds import Slurmds
from tests.sim.transcript import Transcript
from windlass.kube import kinds, requests
from windlass.kube.errors import KubeError
from windlass.kube.requests import Deletion
from windlass.kube.wire import Anything
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key

Json = dict[str, Any]

BROKEN: Final = "broken"
"""An image of that name cannot be pulled."""
DISK_PRESSURE: Final = "DiskPressure"
MAINTENANCE: Final = "example.com/maintenance"
"""The condition and the taint of nodes that are to be drained in Slurm, too."""
MISSED: Final = 40.0
"""After so many seconds pods of a node that is no more are removed."""
UNREACHABLE: Final = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}


@dataclass
class Life:
    """What chance has in store for one pod."""

    name: str
    bound_at: float
    ready_after: float
    stop_after: float
    ready_at: float | None = None
    gone_at: float | None = None
    missing_since: float | None = None
    registered: bool = False
    """slurmd registers when it starts, and never again."""


@dataclass
class Kubelets:
    kube: FakeKube
    slurmds: Slurmds
    transcript: Transcript
    rng: Random
    lost: set[str] = field(default_factory=set)
    """Nodes without power."""
    _lives: dict[str, Life] = field(default_factory=dict)

    def tick(self, now: float) -> None:
        self._collect()
        pods = self.kube.all(kinds.POD)
        for key, pod in pods:
            self._care(key, pod, now)
        there = {pod["metadata"]["uid"] for _, pod in pods}
        for uid in [uid for uid in self._lives if uid not in there]:
            self.slurmds.vanish(self._lives.pop(uid).name, uid, now)

    def _collect(self) -> None:
        """What was made by somebody who had not heard that its owner is gone."""
        owners = {each["metadata"]["uid"] for _, each in self.kube.all(kinds.NODE_SET)}
        for key, pod in self.kube.all(kinds.POD):
            of = {each["uid"] for each in pod["metadata"].get("ownerReferences") or ()}
            if of.isdisjoint(owners) and "deletionTimestamp" not in pod["metadata"]:
                self.kube.answer(requests.delete(kinds.POD, key))

    def _care(self, key: Key, pod: Json, now: float) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName", "")
        life = self._lives.get(uid) or self._born(uid, pod, now)
        if node in self.lost:
            self.slurmds.vanish(life.name, uid, now)
            self._miss(key, node, life, now)
        elif "deletionTimestamp" in pod["metadata"]:
            self._stop(key, pod, life, now)
        elif not node:
            self._bind(key, pod, life, now)
        elif not is_ready(pod):
            self._start(key, pod, life, now)
        elif not life.registered:
            self._register(pod, life)

    def _born(self, uid: str, pod: Json, now: float) -> Life:
        life = Life(
            name=pod["spec"].get("hostname") or pod["metadata"]["name"],
            bound_at=now + self.rng.choice((0.0, 0.0, 0.5, 3.0)),
            ready_after=self.rng.choice((0.5, 1.0, 4.0)),
            stop_after=self.rng.choice((0.0, 1.0, 8.0)),
        )
        self._lives[uid] = life
        return life

    # --- the scheduler -----------------------------------------------------------------------

    def _bind(self, key: Key, pod: Json, life: Life, now: float) -> None:
        if now < life.bound_at:
            return
        chosen = next(self._fitting(pod), None)
        if chosen is not None:
            self.kube.answer(requests.bind(key, pod["metadata"]["uid"], chosen))
            life.ready_at = now + life.ready_after

    def _fitting(self, pod: Json) -> Iterator[str]:
        taken = {
            each["spec"].get("nodeName")
            for _, each in self.kube.all(kinds.POD)
            if each["status"].get("phase") not in ("Succeeded", "Failed")
        }
        for key, node in self.kube.all(kinds.NODE):
            if key.name not in taken and self._takes(node, pod):
                yield key.name

    def _takes(self, node: Json, pod: Json) -> bool:
        spec = node.get("spec") or {}
        name = node["metadata"]["name"]
        if spec.get("unschedulable") or name in self.lost or not _chosen(pod, node):
            return False
        tolerated = {each.get("key") for each in pod["spec"].get("tolerations") or ()}
        return all(taint["key"] in tolerated for taint in spec.get("taints") or ())

    # --- kubelet -----------------------------------------------------------------------------

    def _start(self, key: Key, pod: Json, life: Life, now: float) -> None:
        if pod["status"].get("phase") in ("Succeeded", "Failed"):
            return
        if life.ready_at is None:
            life.ready_at = now + life.ready_after
        if now < life.ready_at:
            return
        images = {each["image"] for each in pod["spec"]["containers"]}
        if any(BROKEN in image for image in images):
            waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
            statuses = [{"name": "slurmd", "ready": False, "state": waiting}]
            self._show(key, "Pending", ready=False, containerStatuses=statuses)
        else:
            self._show(key, "Running", ready=True, startTime=self.kube.time())

    def _register(self, pod: Json, life: Life) -> None:
        if not self.slurmds.answers:
            return
        said = pod["spec"]["containers"][0].get("args") or []
        options = dict(pairwise(said))
        words = dict(each.split("=", 1) for each in options.get("--conf", "").split())
        fields: Json = {"features": words.get("Features", "").split(",")}
        if "--extra" in options:
            fields["extra"] = options["--extra"]
        self.slurmds.register(life.name, pod["metadata"]["uid"], **fields)
        life.registered = True

    def _stop(self, key: Key, pod: Json, life: Life, now: float) -> None:
        if life.gone_at is None:
            life.gone_at = now + life.stop_after
            if pod["status"].get("phase") == "Running":
                self.slurmds.say_down(life.name, _said_by(pod))
                self._show(key, "Running", ready=False)
        if now >= life.gone_at:
            # The whole pod is gone with this answer, unless a finalizer holds it.
            uid = pod["metadata"]["uid"]
            self._try_delete(key, Deletion(uid=uid, grace_seconds=0))

    def fail(self, key: Key, now: float) -> None:
        """Its containers end for good, as when kubelet evicts it; no preStop is run."""
        pod = self.kube.find(kinds.POD, key)
        if pod is not None:
            uid = pod["metadata"]["uid"]
            self.slurmds.vanish(self._lives[uid].name, uid, now)
            self._show(key, "Failed", ready=False, reason="Evicted")

    def _show(self, key: Key, phase: str, *, ready: bool, **more: Any) -> None:
        pod = self.kube.find(kinds.POD, key)
        if pod is None:
            return
        shown = {each["type"]: each for each in pod["status"].get("conditions") or ()}
        status = "True" if ready else "False"
        if shown.get("Ready", {}).get("status") != status:
            since = self.kube.time()
            shown["Ready"] = {"type": "Ready", "status": status, "lastTransitionTime": since}
        conditions = list(shown.values())
        body = {"status": {"phase": phase, "conditions": conditions, **more}}
        if {**pod["status"], **body["status"]} == pod["status"]:
            return
        self.kube.answer(requests.merge_patch(kinds.POD, key, body, Anything, "status"))

    def _try_delete(self, key: Key, how: Deletion) -> None:
        try:
            self.kube.answer(requests.delete(kinds.POD, key, how))
        except KubeError as error:
            self.transcript.say("kubelet", f"cannot end {key.name}: {error}")

    def _miss(self, key: Key, node: str, life: Life, now: float) -> None:
        """Pods of a node that has been gone for a while are removed by Kubernetes."""
        if self.kube.find(kinds.NODE, Key("", node)) is not None:
            life.missing_since = None
        elif life.missing_since is None:
            life.missing_since = now
        elif now >= life.missing_since + MISSED:
            self._try_delete(key, Deletion(grace_seconds=0))

    # --- nodes -------------------------------------------------------------------------------

    def lose(self, node: str) -> None:
        self.lost.add(node)
        self.mark(node, ready="Unknown")
        for key, pod in self.kube.all(kinds.POD):
            if pod["spec"].get("nodeName") == node and pod["status"].get("phase") == "Running":
                self._show(key, "Running", ready=False)

    def restore(self, node: str, now: float) -> None:
        """Its kubelet is back: what was deleted meanwhile ends, the rest starts again."""
        self.lost.discard(node)
        self.mark(node, ready="True")
        for key, pod in self.kube.all(kinds.POD):
            if pod["spec"].get("nodeName") != node:
                continue
            life = self._lives.get(pod["metadata"]["uid"])
            if "deletionTimestamp" in pod["metadata"]:
                self._try_delete(key, Deletion(grace_seconds=0))
            elif life is not None and pod["status"].get("phase") == "Running":
                life.ready_at, life.registered = now + life.ready_after, False
                self._show(key, "Running", ready=False)

    def mark(self, node: str, **conditions: str) -> None:
        """Set conditions; a node that is not ready is tainted, too."""
        key, found = Key("", node), self.kube.find(kinds.NODE, Key("", node)) or {}
        shown = {each["type"]: each for each in found["status"]["conditions"]}
        for name, status in conditions.items():
            type_ = name[0].upper() + name[1:]
            shown[type_] = {"type": type_, "status": status, "lastTransitionTime": self.kube.time()}
        body = {"status": {"conditions": list(shown.values())}}
        self.kube.answer(requests.merge_patch(kinds.NODE, key, body, Anything, "status"))
        self.taint(node, UNREACHABLE, there=shown["Ready"]["status"] != "True")

    def taint(self, node: str, taint: Json, *, there: bool) -> None:
        found = self.kube.find(kinds.NODE, Key("", node)) or {}
        others = [each for each in found.get("spec", {}).get("taints") or () if each != taint]
        body = {"spec": {"taints": [*others, *([taint] if there else [])] or None}}
        self.kube.answer(requests.merge_patch(kinds.NODE, Key("", node), body, Anything))


def is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _said_by(pod: Json) -> str:
    """The reason that the pod's own preStop gives."""
    hook = pod["spec"]["containers"][0].get("lifecycle", {}).get("preStop", {})
    command = " ".join(hook.get("exec", {}).get("command", ()))
    return command.partition("reason='")[2].partition("'")[0]


def _chosen(pod: Json, node: Json) -> bool:
    """Node selectors, and required affinity by name or label."""
    labels = node["metadata"].get("labels") or {}
    wanted = pod["spec"].get("nodeSelector") or {}
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms") or [{}]
    named = {"metadata.name": node["metadata"]["name"]}
    return wanted.items() <= labels.items() and any(
        all(_holds(each, named) for each in term.get("matchFields") or ())
        and all(_holds(each, labels) for each in term.get("matchExpressions") or ())
        for term in terms
    )


def _holds(requirement: Json, values: dict[str, str]) -> bool:
    value = values.get(requirement["key"])
    match requirement["operator"]:
        case "In":
            return value in requirement["values"]
        case "NotIn":
            return value not in requirement["values"]
        case "Exists":
            return value is not None
        case _:
            return value is None
