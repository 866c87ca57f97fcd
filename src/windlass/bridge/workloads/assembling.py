"""What the kinds share: from pods and templates to a gang, with all that is wrong about it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final

from windlass.api.validation.findings import Finding, Problem
from windlass.bridge import words
from windlass.bridge.annotations import Wishes, contradictions, merge, read
from windlass.bridge.devices import DeviceMap
from windlass.bridge.gang import Gang, GangKey, Level, Member, in_order
from windlass.bridge.resources import Needs
from windlass.bridge.wanted import wanted
from windlass.bridge.workloads.surroundings import Surroundings
from windlass.kube.objects import Pod, PodSpec
from windlass.values.reason import Reason

ENDED: Final = frozenset({"Succeeded", "Failed"})
_DIGITS: Final = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a gang: that of a pod, or of one that the spec describes."""

    index: int
    pod: Pod | None
    spec: PodSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a kind knows of its gang besides its pods."""

    key: GangKey
    uid: str
    attempt: str = ""
    name: str
    least: int
    most: int | None = None
    """As many as there are pods, where it is None."""
    deadline: int | None = None
    """In seconds, for the whole gang."""
    priority_class: str = ""
    findings: tuple[Finding, ...] = ()
    waits: Reason | None = None


def assemble(frame: Frame, slots: Sequence[Slot], around: Surroundings, devices: DeviceMap) -> Gang:
    pods = [slot.pod for slot in slots if slot.pod is not None]
    readings = [(of, reading) for of, reading in around.readings()]
    own = [(pod, read(pod.metadata.annotations)) for pod in pods]
    nearest = own[0][1].wishes if own else Wishes()
    levels = (*(Level(of, reading.wishes) for of, reading in readings), Level("", nearest))
    wishes = merge(level.wishes for level in levels)
    assessed = [(slot, wanted(slot.spec, wishes, devices)) for slot in slots]
    findings = (
        *frame.findings,
        *(found for _, reading in readings for found in reading.findings),
        *(found for _, reading in own for found in reading.findings),
        *_disagreement([(pod, reading.wishes) for pod, reading in own]),
        *contradictions(wishes),
        *(found for _, each in assessed for found in each.findings),
    )
    return Gang(
        key=frame.key,
        uid=frame.uid,
        attempt=frame.attempt,
        members=in_order(_member(slot, each.needs) for slot, each in assessed),
        least=frame.least,
        most=max(frame.least, len(slots)) if frame.most is None else frame.most,
        levels=levels,
        name=frame.name,
        time_limit=_minutes(frame.deadline) or _minutes(_deadline(slots)),
        priority_class=frame.priority_class or _priority_class(slots),
        findings=tuple(dict.fromkeys(findings)),
        waits=_missing(around) or frame.waits or _gated(pods),
    )


def live(pods: Iterable[Pod]) -> list[Pod]:
    """Those that run or may yet; what has ended or is being deleted takes no place."""
    return [
        pod
        for pod in pods
        if pod.status.phase not in ENDED and pod.metadata.deletion_timestamp is None
    ]


def short_of(found: int, expected: int) -> Reason | None:
    if found >= expected:
        return None
    return Reason("PodsMissing", f"{found} of {expected} pods are there")


def slots(pods: Iterable[Pod]) -> list[Slot]:
    """Pods by the index that their controller gave them; by name where not all have their own."""
    ordered = sorted(pods, key=_natural)
    indices = [index(pod) for pod in ordered]
    numbers = [number for number in indices if number is not None]
    if len(set(numbers)) < len(ordered):
        numbers = list(range(len(ordered)))
    return [Slot(n, pod, pod.spec) for n, pod in zip(numbers, ordered, strict=True)]


def index(pod: Pod) -> int | None:
    """The rank that a controller gave to a pod."""
    said = {**(pod.metadata.annotations or {}), **(pod.metadata.labels or {})}
    for name in (words.COMPLETION_INDEX, words.WORKER_INDEX, words.POD_INDEX):
        if (number := said.get(name, "")).isdecimal():
            return int(number)
    return None


def _natural(pod: Pod) -> tuple[tuple[int, int | str], ...]:
    """w-9 before w-10."""
    parts = _DIGITS.split(pod.metadata.name)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)


def _member(slot: Slot, needs: Needs) -> Member:
    if slot.pod is None:
        return Member(slot.index, needs)
    pod = slot.pod
    return Member(slot.index, needs, pod.metadata.key, pod.metadata.uid, pod.spec.node_name)


def _disagreement(own: Sequence[tuple[Pod, Wishes]]) -> Iterator[Finding]:
    """A gang is one Slurm job, so its pods must ask for the same one."""
    for pod, wishes in own[1:]:
        first = own[0]
        odd = [each.name for each in fields(wishes) if _differ(each.name, wishes, first[1])]
        if odd:
            yield Problem(
                "metadata.annotations",
                f"pods {first[0].metadata.name} and {pod.metadata.name} are one Slurm job"
                f" and differ in {', '.join(odd)}",
                "annotate all pods of a gang alike",
            )
            return


def _differ(name: str, one: Wishes, other: Wishes) -> bool:
    return bool(getattr(one, name) != getattr(other, name))


def _deadline(several: Sequence[Slot]) -> int | None:
    """The latest of all, since Slurm has one limit for the whole job."""
    deadlines = [slot.spec.active_deadline_seconds for slot in several]
    known = [seconds for seconds in deadlines if seconds]
    return max(known) if known and len(known) == len(deadlines) else None


def _minutes(seconds: int | None) -> int | None:
    return -(-seconds // 60) if seconds else None


def _priority_class(several: Sequence[Slot]) -> str:
    return several[0].spec.priority_class_name if several else ""


def _missing(around: Surroundings) -> Reason | None:
    if not around.missing:
        return None
    return Reason("OwnerMissing", f"{around.missing} owns the pod and has not been seen")


def _gated(pods: Sequence[Pod]) -> Reason | None:
    for pod in pods:
        if gates := [gate.name for gate in pod.spec.scheduling_gates or ()]:
            sentence = f"pod {pod.metadata.name} is held by {', '.join(gates)}"
            return Reason("SchedulingGated", sentence)
    return None
