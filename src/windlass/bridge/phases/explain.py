"""Why a pod waits: Slurm's reason in words, how many are before it, and when it may start.

What moves all the time is told coarsely, so that a long queue is not written again and again.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from windlass.bridge.observed import Observed, SlurmSide
from windlass.bridge.plan import Explain, Target
from windlass.kube.meta import Condition
from windlass.kube.objects import Pod
from windlass.slurm.model import Job
from windlass.values.moments import written
from windlass.values.reason import Reason

CONDITION: Final = "PodScheduled"
AT_MOST_EVERY: Final = timedelta(seconds=10)
PATIENCE: Final = timedelta(seconds=3)
"""A pod that starts within this time is told nothing."""
LOOKED: Final = timedelta(seconds=5)
"""By then Slurm has looked at a new job, and its reason is read."""
GATED: Final = "SchedulingGated"
"""Kubernetes itself explains those."""
_STEP: Final = 300
_WORDS: Final[Mapping[str, str]] = {
    "None": "Slurm has not looked at it yet",
    "Resources": "it is next, and waits for room",
    "Priority": "others come before it",
    "Dependency": "it waits for another job",
    "BeginTime": "its time has not come",
    "JobHeldUser": "it is held by its user",
    "JobHeldAdmin": "it is held by an administrator",
    "Licenses": "its licences are in use",
    "Reservation": "it waits for its reservation",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is inactive",
    "PartitionTimeLimit": "its time limit is more than its partition allows",
    "PartitionNodeLimit": "it asks for more nodes than its partition has for one job",
    "NodeDown": "a node that it needs is down",
    "ReqNodeNotAvail": "nodes that it may have are not available",
    "BadConstraints": "no node has what it asks for",
}
_OTHER: Final = re.compile(r"[^A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Told:
    actions: tuple[Explain, ...] = ()
    again: float | None = None


def queued(job: Job, slurm: SlurmSide) -> Reason:
    """Of a job that waits."""
    short = job.reason.partition(",")[0].partition("(")[0].strip() or "None"
    code = _OTHER.sub("", short).title() if short.islower() else _OTHER.sub("", short)
    sentence = _WORDS.get(short, f"Slurm says {job.reason}")
    parts = [f"Slurm job {job.id} waits: {sentence}", _ahead(slurm.ahead), _start(job)]
    return Reason(f"Slurm{code}", "; ".join(filter(None, parts)))


def explain(
    seen: Observed, reasons: Iterable[tuple[Target, Reason]], job: Job | None = None
) -> Told:
    """`job` is the one that waits."""
    pods = {pod.metadata.key: pod for pod in seen.pods}
    actions, waits = [], []
    for target, reason in reasons:
        pod = pods[target.key]
        shown = _shown(pod)
        if reason.code == GATED or _same(shown, reason):
            continue
        wait = _too_soon(pod, job, shown, seen.now)
        if wait > 0:
            waits.append(wait)
        else:
            actions.append(_told(target, reason, shown, seen.now))
    return Told(tuple(actions), min(waits, default=None))


def _told(target: Target, reason: Reason, shown: Condition | None, now: datetime) -> Explain:
    since = shown.last_transition_time if shown and shown.status == "False" else None
    event = shown is None or shown.reason != reason.code
    return Explain(target, reason, written(since or now), written(now), event)


def _too_soon(pod: Pod, job: Job | None, shown: Condition | None, now: datetime) -> float:
    made = pod.metadata.creation_timestamp
    times = [made + PATIENCE] if made else []
    if job is not None and job.submitted_at:
        times.append(datetime.fromtimestamp(job.submitted_at, UTC) + LOOKED)
    if shown is not None and shown.last_probe_time is not None:
        times.append(shown.last_probe_time + AT_MOST_EVERY)
    return max(((time - now).total_seconds() for time in times), default=0.0)


def _shown(pod: Pod) -> Condition | None:
    return next((each for each in pod.status.conditions or () if each.type == CONDITION), None)


def _same(shown: Condition | None, reason: Reason) -> bool:
    return (
        shown is not None
        and shown.status == "False"
        and (shown.reason, shown.message) == (reason.code, reason.sentence)
    )


def _ahead(count: int | None) -> str:
    if count is None:
        return ""
    if count < 10:
        return f"{count or 'no'} {'job' if count == 1 else 'jobs'} before it"
    step = 10 ** (len(str(count)) - 1)
    return f"{count // step * step} jobs or more before it"


def _start(job: Job) -> str:
    if not job.started_at:
        return ""
    rounded = -(-job.started_at // _STEP) * _STEP
    moment = datetime.fromtimestamp(rounded, UTC)
    return f"expected to start by {moment:%Y-%m-%d %H:%M} UTC"
