"""Where a gang stands: its job, the jobs that are left from before, the pods that still run."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from windlass.bridge import submission
from windlass.bridge.jobs import Ours
from windlass.bridge.observed import Host, Observed, SlurmSide, bound, ended, job_id, leaving
from windlass.kube.objects import Pod

LOST_AFTER: Final = timedelta(minutes=5)
"""A pod that was to end by its grace, on a node whose kubelet is silent, is given up then."""
GRACE: Final = 30


@dataclass(frozen=True, slots=True)
class Standing:
    current: Ours | None = None
    """The job for the pods that there are now, waiting or running."""
    others: tuple[Ours, ...] = ()
    """Alive, and for pods of before or made twice."""
    past: Ours | None = None
    """Where there is no current one: the last for these pods, which has ended."""


def standing(seen: Observed, slurm: SlurmSide) -> Standing:
    alive = [each for each in slurm.jobs if each.alive]
    if seen.gang is None:
        return Standing(others=tuple(alive))
    identity = submission.marker(seen.gang, seen.settings).identity
    mine = [each for each in slurm.jobs if each.marker.identity == identity]
    running = [each for each in mine if each.alive and not each.job.state.pending]
    candidates = running or [each for each in mine if each.alive]
    if not candidates:
        return Standing(None, tuple(alive), mine[-1] if mine else None)
    current = candidates[0]
    return Standing(current, tuple(each for each in alive if each is not current))


def pods_of(seen: Observed, number: int) -> list[Pod]:
    """Those that carry the number of this job."""
    return [pod for pod in (*seen.pods, *seen.strays) if job_id(pod) == number]


def occupies(pod: Pod, seen: Observed) -> bool:
    """Whether a pod uses, or may use, what it was given on its node."""
    return bound(pod) and not ended(pod) and not lost(pod, seen)


def occupied(number: int, seen: Observed) -> bool:
    """Whether pods use, or may use, what a job was given."""
    return number in seen.unseen or any(occupies(pod, seen) for pod in pods_of(seen, number))


def lost(pod: Pod, seen: Observed) -> bool:
    """Whether nobody will ever say that it has ended."""
    host = seen.hosts.get(pod.spec.node_name, Host.WELL)
    if host is Host.GONE:
        return True
    asked = pod.metadata.deletion_timestamp
    return (
        host is Host.SILENT
        and leaving(pod)
        and asked is not None
        and seen.now - asked > LOST_AFTER + timedelta(seconds=_grace(pod))
    )


def _grace(pod: Pod) -> int:
    said = pod.spec.termination_grace_period_seconds
    return GRACE if said is None else said
