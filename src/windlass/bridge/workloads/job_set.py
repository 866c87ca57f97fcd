"""A JobSet, whose jobs start together unless one waits until another is complete.

Ranks follow the JobSet: replicated job, job, completion index. Where a replicated job is made only
once another is ready, the places of its pods are asked for with the others', and kept for them;
where it is made once another is complete, it is a gang of its own, since both never run at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windlass.bridge import words
from windlass.bridge.devices import DeviceMap
from windlass.bridge.gang import Gang, GangKey
from windlass.bridge.workloads.assembling import Frame, Slot, assemble, live, short_of, slots
from windlass.bridge.workloads.job import pods_at_once
from windlass.bridge.workloads.objects import JobSet, ReplicatedJob
from windlass.bridge.workloads.surroundings import Around, Surroundings
from windlass.kube import kinds
from windlass.kube.objects import Pod


@dataclass(frozen=True, slots=True)
class _Stage:
    """Replicated jobs that run at once; its name is empty where it is the only one."""

    name: str
    jobs: tuple[ReplicatedJob, ...]


def key(pod: Pod, around: Surroundings) -> GangKey | None:
    found = around.owner(JobSet)
    if found is None or around.wishes(pod).gang is False:
        return None
    stage = _stage_of(found, pod)
    return GangKey(kinds.JOB_SET.kind, pod.metadata.namespace, found.metadata.name, stage.name)


def gang(pods: Sequence[Pod], around: Around, devices: DeviceMap) -> Gang:
    found = around(pods[0]).owner(JobSet)
    assert found is not None
    stage = _stage_of(found, pods[0])
    attempt = max((_attempt(pod) for pod in live(pods)), default=0)
    there = [pod for pod in live(pods) if _attempt(pod) == attempt]
    over = [pod for pod in pods if _attempt(pod) == attempt and pod.status.phase == "Succeeded"]
    every = list(_places(stage, there))
    done = {slot.index for _, slot in _places(stage, over) if slot.pod is not None}
    places = [(job, slot) for job, slot in every if slot.pod is not None or slot.index not in done]
    later = {job.name for job in stage.jobs if _comes_later(found, job, stage)}
    expected = [slot for job, slot in places if slot.pod is not None or job.name not in later]
    present = [slot for slot in expected if slot.pod is not None]
    frame = Frame(
        key=GangKey(kinds.JOB_SET.kind, found.metadata.namespace, found.metadata.name, stage.name),
        uid=found.metadata.uid,
        attempt=str(attempt),
        name="-".join(filter(None, (found.metadata.name, stage.name))),
        least=len(places),
        done=len(every) - len(places),
        deadline=_deadline(stage),
        waits=short_of(len(present), len(expected)),
    )
    kept = [slot for job, slot in places if slot.pod is not None or job.name in later]
    return assemble(frame, kept, around, devices)


# --- stages --------------------------------------------------------------------------------


def _stage_of(found: JobSet, pod: Pod) -> _Stage:
    name = _label(pod, words.REPLICATED_JOB)
    stages = _stages(found)
    return next((s for s in stages if name in {job.name for job in s.jobs}), stages[0])


def _stages(found: JobSet) -> list[_Stage]:
    depth: dict[str, int] = {}
    grouped: dict[int, list[ReplicatedJob]] = {}
    for job in found.spec.replicated_jobs or ():
        before = [
            depth.get(each.name, 0) + (each.status == "Complete") for each in job.depends_on or ()
        ]
        depth[job.name] = max(before, default=0)
        grouped.setdefault(depth[job.name], []).append(job)
    if len(grouped) < 2:
        return [_Stage("", tuple(found.spec.replicated_jobs or ()))]
    return [_Stage(jobs[0].name, tuple(jobs)) for _, jobs in sorted(grouped.items())]


def _comes_later(found: JobSet, job: ReplicatedJob, stage: _Stage) -> bool:
    """Whether its pods are made only when others of the stage run."""
    startup = found.spec.startup_policy
    if startup is not None and startup.startup_policy_order == "InOrder":
        return job is not stage.jobs[0]
    return any(each.status == "Ready" for each in job.depends_on or ())


# --- places --------------------------------------------------------------------------------


def _places(stage: _Stage, there: Sequence[Pod]) -> Iterator[tuple[ReplicatedJob, Slot]]:
    by_job: dict[tuple[str, str], list[Pod]] = {}
    for pod in there:
        name = _label(pod, words.REPLICATED_JOB), _label(pod, words.JOB_INDEX)
        by_job.setdefault(name, []).append(pod)
    first = 0
    for job in stage.jobs:
        for replica in range(job.replicas):
            size = pods_at_once(job.template.spec)
            own = {slot.index: slot for slot in slots(by_job.get((job.name, str(replica)), ()))}
            for rank in range(size):
                yield job, _place(first + rank, own.get(rank), job)
            first += size


def _place(rank: int, slot: Slot | None, job: ReplicatedJob) -> Slot:
    if slot is not None:
        return Slot(rank, slot.pod, slot.spec)
    return Slot(rank, None, job.template.spec.template.spec)


def _deadline(stage: _Stage) -> int | None:
    deadlines = [job.template.spec.active_deadline_seconds for job in stage.jobs]
    known = [seconds for seconds in deadlines if seconds]
    return max(known) if known and len(known) == len(deadlines) else None


def _attempt(pod: Pod) -> int:
    said = _label(pod, words.JOB_SET_ATTEMPT)
    return int(said) if said.isdecimal() else 0


def _label(pod: Pod, name: str) -> str:
    return (pod.metadata.labels or {}).get(name, "")
