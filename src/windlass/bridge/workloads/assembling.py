"""What the kinds share: from pods and templates to a gang, with all that is wrong about it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Final

from windlass.api.validation.findings import Finding, Problem
from windlass.bridge import words
from windlass.bridge.annotations import Reading, Wishes, contradictions, merge, read
from windlass.bridge.devices import DeviceMap
from windlass.bridge.gang import Gang, GangKey, Level, Member, in_order
from windlass.bridge.order import natural
from windlass.bridge.ports import host_ports
from windlass.bridge.resources import Needs
from windlass.bridge.wanted import wanted
from windlass.bridge.workloads.surroundings import Around, Surroundings
from windlass.kube.objects import Pod, PodSpec
from windlass.values.reason import Reason

ENDED: Final = frozenset({"Succeeded", "Failed"})


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
    done: int = 0
    deadline: int | None = None
    """In seconds, for the whole gang."""
    priority_class: str = ""
    findings: tuple[Finding, ...] = ()
    waits: Reason | None = None


@dataclass(frozen=True, slots=True)
class _Heard:
    """All that is asked for a pod, by whom."""

    pod: Pod
    around: Surroundings
    far: tuple[tuple[str, Reading], ...]
    own: Reading

    @property
    def levels(self) -> tuple[Level, ...]:
        return (
            *(Level(of, reading.wishes) for of, reading in self.far),
            Level("", self.own.wishes),
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*(found for _, each in self.far for found in each.findings), *self.own.findings)


def assemble(frame: Frame, slots: Sequence[Slot], around: Around, devices: DeviceMap) -> Gang:
    heard = _hear(slots, around)
    levels = heard[0].levels if heard else ()
    wishes = merge(level.wishes for level in levels)
    assessed = [(slot, wanted(slot.spec, wishes, devices)) for slot in slots]
    findings = (
        *frame.findings,
        *(found for each in heard for found in each.findings),
        *_disagreement(heard, wishes),
        *contradictions(wishes),
        *(found for _, each in assessed for found in each.findings),
    )
    return Gang(
        key=frame.key,
        uid=frame.uid,
        attempt=frame.attempt,
        members=in_order(_member(slot, each.needs) for slot, each in assessed),
        least=frame.least,
        most=max(frame.least, len(slots)),
        done=frame.done,
        levels=levels,
        name=frame.name,
        time_limit=_minutes(frame.deadline) or _minutes(_deadline(slots)),
        priority_class=frame.priority_class or _priority_class(slots),
        findings=tuple(dict.fromkeys(findings)),
        waits=_missing(heard) or frame.waits or _gated(heard),
    )


def _hear(slots: Sequence[Slot], around: Around) -> list[_Heard]:
    """In the order of ranks; what many pods have around them is read once."""
    read_once: dict[int, tuple[Surroundings, tuple[tuple[str, Reading], ...]]] = {}
    heard = []
    for slot in sorted(slots, key=lambda each: each.index):
        if slot.pod is not None:
            there = around(slot.pod)
            if id(there) not in read_once:
                read_once[id(there)] = there, tuple(there.readings())
            far = read_once[id(there)][1]
            heard.append(_Heard(slot.pod, there, far, read(slot.pod.metadata.annotations)))
    return heard


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
    ordered = sorted(pods, key=lambda pod: natural(pod.metadata.name))
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


def _member(slot: Slot, needs: Needs) -> Member:
    ports = host_ports(slot.spec)
    if slot.pod is None:
        return Member(slot.index, needs, ports=ports)
    meta, host = slot.pod.metadata, slot.pod.spec.node_name
    return Member(slot.index, needs, meta.key, meta.uid, host, ports)


def _disagreement(heard: Sequence[_Heard], wishes: Wishes) -> Iterator[Finding]:
    """A gang is one Slurm job, so the same must be asked for each of its pods."""
    for each in heard[1:]:
        other = merge(level.wishes for level in each.levels)
        odd = [one.name for one in fields(wishes) if _differ(one.name, wishes, other)]
        if odd:
            yield Problem(
                "metadata.annotations",
                f"pods {heard[0].pod.metadata.name} and {each.pod.metadata.name} are one Slurm"
                f" job and differ in {', '.join(odd)}",
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


def _missing(heard: Sequence[_Heard]) -> Reason | None:
    for each in heard:
        if owner := each.around.missing:
            return Reason("OwnerMissing", f"{owner} owns the pod and has not been seen")
    return None


def _gated(heard: Sequence[_Heard]) -> Reason | None:
    for each in heard:
        if gates := [gate.name for gate in each.pod.spec.scheduling_gates or ()]:
            sentence = f"pod {each.pod.metadata.name} is held by {', '.join(gates)}"
            return Reason("SchedulingGated", sentence)
    return None
