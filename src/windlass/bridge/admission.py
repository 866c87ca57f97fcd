"""What may enter: changes to pods on their way in, and refusals with the field and the fix.

A pod is ours if its scheduler is. In a namespace that is given to Slurm, pods that name no
scheduler become ours as they are made, except those of a DaemonSet and of a kubelet itself, which
are for a node and not for a place in a queue. A pod that is nobody's concern here passes
untouched, and so does a change that does not concern what Slurm was told.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from windlass.api.validation.findings import Caution, Finding, Problem, ratchet
from windlass.bridge import annotations, devices, identity, words
from windlass.bridge.devices import DeviceMap
from windlass.bridge.identity import Asker, Policy
from windlass.bridge.selecting import selects
from windlass.bridge.wanted import wanted
from windlass.kube.json_patch import Operation, difference
from windlass.kube.meta import LabelSelector, Meta
from windlass.kube.objects import Pod
from windlass.kube.placement import REQUIRED

ANYBODYS: Final = ("", words.DEFAULT_SCHEDULER)
_WHO: Final = ("user-id", "group-id", "account")
_NOTES: Final = (words.JOB_ID, words.NODE)
"""Annotations of the bridge."""


@dataclass(frozen=True, slots=True)
class Managed:
    """The namespaces that are given to Slurm: by label where there is a selector, else by name."""

    names: frozenset[str] = frozenset()
    selector: LabelSelector | None = None

    def has(self, namespace: Meta) -> bool:
        if self.selector is not None:
            return selects(self.selector, namespace.labels)
        return namespace.name in self.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    managed: Managed = field(default_factory=Managed)
    scheduler: str = words.SCHEDULER
    elsewhere: bool = True
    """Pods of other namespaces that name the scheduler are taken too."""
    devices: DeviceMap = devices.DEFAULT
    policy: Policy = field(default_factory=Policy)
    bridge: str = ""
    """The bridge's own user, who alone writes down jobs and nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A pod on its way in, as the API server shows it; `old` is None for a new one."""

    namespace: Meta
    new: Mapping[str, Any]
    old: Mapping[str, Any] | None = None
    subresource: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()

    @property
    def asker(self) -> Asker:
        notes = self.namespace.annotations or {}
        return Asker(self.namespace.name, self.user, self.groups, notes)


# --- what is changed ------------------------------------------------------------------------


def mutation(request: Request, rules: Rules) -> tuple[Operation, ...]:
    """What makes a new pod one of ours; a pod that is there already is never changed."""
    pod = _pod(request.new)
    if request.old is not None or request.subresource or not _becomes_ours(pod, request, rules):
        return ()
    new = copy.deepcopy(dict(request.new))
    spec = new.setdefault("spec", {})
    spec["schedulerName"] = rules.scheduler
    spec.pop("nodeName", None)
    wanted_toleration = words.toleration(rules.scheduler)
    if wanted_toleration not in (pod.spec.tolerations or ()):
        tolerations = spec.get("tolerations") or []
        spec["tolerations"] = [*tolerations, msgspec.to_builtins(wanted_toleration)]
    wishes = annotations.read(pod.metadata.annotations).wishes
    if stamp := identity.stamp(request.asker, wishes, rules.policy):
        meta = new.setdefault("metadata", {})
        meta["annotations"] = {**stamp, **(meta.get("annotations") or {})}
    return difference(request.new, new)


def _becomes_ours(pod: Pod, request: Request, rules: Rules) -> bool:
    managed = rules.managed.has(request.namespace)
    if pod.spec.scheduler_name == rules.scheduler:
        return managed or rules.elsewhere
    return managed and pod.spec.scheduler_name in ANYBODYS and not _for_a_node(pod)


def _for_a_node(pod: Pod) -> bool:
    owner = pod.metadata.controller
    mirrored = words.MIRROR_POD in (pod.metadata.annotations or {})
    return mirrored or (owner is not None and owner.kind == "DaemonSet")


# --- what is refused ------------------------------------------------------------------------


def review(request: Request, rules: Rules) -> tuple[Finding, ...]:
    """What is wrong with a pod of ours or with a change to one; problems refuse it."""
    new = _pod(request.new)
    if new.spec.scheduler_name != rules.scheduler:
        return ()
    if request.old is None:
        return tuple(_creation(new, request, rules))
    return tuple(_change(_pod(request.old), new, request, rules))


def _creation(pod: Pod, request: Request, rules: Rules) -> Iterator[Finding]:
    if not rules.elsewhere and not rules.managed.has(request.namespace):
        yield Problem(
            "spec.schedulerName",
            f"namespace {request.namespace.name} is not given to Slurm",
            "use a namespace that is, or leave out schedulerName",
        )
    yield from _written_ahead(pod)
    yield from _not_honoured(pod)
    reading = annotations.read(pod.metadata.annotations)
    yield from reading.findings
    yield from wanted(pod.spec, reading.wishes, rules.devices).findings
    yield from identity.judge(request.asker, reading.wishes, rules.policy).findings


def _written_ahead(pod: Pod) -> Iterator[Finding]:
    """A new pod with a job would be bound as if Slurm had said so."""
    if words.JOB_ID in (pod.metadata.labels or {}):
        yield Problem(_label(words.JOB_ID), "only the bridge writes this", "take it away")
    for name in _NOTES:
        if name in (pod.metadata.annotations or {}):
            yield Problem(annotations.field(name), "only the bridge writes this", "take it away")


def _not_honoured(pod: Pod) -> Iterator[Finding]:
    """What Slurm has no word for."""
    if pod.spec.resource_claims:
        sentence = "devices by ResourceClaim are not counted by Slurm"
        fix = "ask for them in the resources of a container, or by the annotation gres"
        yield Problem("spec.resourceClaims", sentence, fix)
    for at, spread in enumerate(pod.spec.topology_spread_constraints or ()):
        place = f"spec.topologySpreadConstraints[{at}]"
        sentence = "Slurm does not spread pods by label"
        if spread.get("whenUnsatisfiable") == "ScheduleAnyway":
            yield Caution(place, sentence, "it has no effect")
        else:
            yield Problem(place, sentence, "take it away, or write ScheduleAnyway")
    for name in ("podAffinity", "podAntiAffinity"):
        if ((pod.spec.affinity or {}).get(name) or {}).get(REQUIRED):
            sentence = "Slurm does not place pods by those that are there"
            yield Caution(f"spec.affinity.{name}", sentence, "it has no effect")


# --- changes -------------------------------------------------------------------------------


def _change(old: Pod, new: Pod, request: Request, rules: Rules) -> Iterator[Finding]:
    if request.subresource == "resize":
        sentence = "Slurm cannot give more or less to a job that has its place"
        yield Problem("spec.containers.resources", sentence, "make another pod")
        return
    if request.user != rules.bridge or not rules.bridge:
        yield from _tampering(old, new, known=bool(rules.bridge))
    yield from _job_changes(old, new)


def _tampering(old: Pod, new: Pod, *, known: bool) -> Iterator[Finding]:
    """Without knowing who the bridge is, what it wrote is safe only once the pod runs."""
    if not known and new.status.phase != "Running":
        return
    if not _says_the_same(old, new):
        yield Problem(_label(words.JOB_ID), "only the bridge writes this", "leave it as it is")
    for name in _NOTES:
        if _note(old, name) != _note(new, name):
            place = annotations.field(name)
            yield Problem(place, "only the bridge writes this", "leave it as it is")


def _says_the_same(old: Pod, new: Pod) -> bool:
    """The label may come after the annotation: not every API server takes it with a Binding."""
    before = (old.metadata.labels or {}).get(words.JOB_ID)
    after = (new.metadata.labels or {}).get(words.JOB_ID)
    return after == before or (before is None and after == _note(old, words.JOB_ID))


def _job_changes(old: Pod, new: Pod) -> Iterator[Finding]:
    before = annotations.job_annotations(old.metadata.annotations)
    after = annotations.job_annotations(new.metadata.annotations)
    changed = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
    placed = bool(old.spec.node_name) or old.status.phase not in ("", "Pending")
    for name in changed:
        if name.partition("/")[2] in _WHO:
            sentence = "whose job it is stays as it was when the pod was made"
            yield Problem(annotations.field(name), sentence, "make another pod")
        elif placed:
            sentence = "the job of this pod has started"
            yield Problem(annotations.field(name), sentence, "make another pod")
    if changed:
        yield from ratchet(_read(new), _read(old))


def _read(pod: Pod) -> tuple[Finding, ...]:
    return annotations.read(pod.metadata.annotations).findings


def _note(pod: Pod, name: str) -> str | None:
    return (pod.metadata.annotations or {}).get(name)


def _label(name: str) -> str:
    return f"metadata.labels[{name}]"


def _pod(raw: Mapping[str, Any]) -> Pod:
    return msgspec.convert(raw, Pod)
