"""Pods whose job is no more are deleted, with their grace.

Slurm gives the place of an ended job away at once. Others are kept from it until the pods are gone
by `crowded`: nobody is bound to a node while pods there hold nothing in Slurm any more.
"""

from collections.abc import Iterator
from typing import Final

from windlass.bridge.jobs import Ours
from windlass.bridge.observed import Observed, SlurmSide, bound, ended, job_id, leaving, target
from windlass.bridge.plan import DeletePod
from windlass.bridge.standing import Standing
from windlass.kube.objects import Pod
from windlass.slurm.model import Job
from windlass.values.reason import Reason

BY_US: Final = "windlass-bridge:"
"""How the comment of a job begins that we ended ourselves."""


def gone(seen: Observed, slurm: SlurmSide, at: Standing) -> Iterator[DeletePod]:
    for pod in seen.pods:
        if not ended(pod) and not leaving(pod) and (reason := _why(pod, slurm, at)):
            yield DeletePod(target(pod), reason)


def _why(pod: Pod, slurm: SlurmSide, at: Standing) -> Reason | None:
    number = job_id(pod)
    if bound(pod):
        return None if number is None else _lost_its_job(number, slurm.noted.get(number))
    past = at.past
    if past is None or _ended_by_us(past.job) or not _was_for(past, pod):
        return None
    return _reason(past.job)


def _ended_by_us(job: Job) -> bool:
    """No external job completes unless it is told to, and that needs no comment."""
    return job.comment.startswith(BY_US) or job.state.base == "COMPLETED"


def _lost_its_job(number: int, job: Job | None) -> Reason | None:
    if job is None:
        return Reason("SlurmJobGone", f"Slurm knows job {number} no more")
    if job.state.running and not job.state.comes_back:
        return None
    return _reason(job)


def _was_for(past: Ours, pod: Pod) -> bool:
    """One that was made once the job had ended is a new attempt, though it have an old name."""
    if past.marker.uid == pod.metadata.uid:
        return True
    made, over = pod.metadata.creation_timestamp, past.job.ends_at
    later = made is not None and over is not None and made.timestamp() >= over
    return pod.metadata.key in past.marker.pods and not later


def _reason(job: Job) -> Reason:
    base = job.state.base.replace("_", " ").title().replace(" ", "")
    return Reason(f"SlurmJob{base}", f"Slurm job {job.id} is {job.state}")
