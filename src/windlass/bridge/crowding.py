"""Whether pods on a node hold nothing in Slurm any more, so that others have to wait for their end.

Slurm gives the place of an external job to the next one in the moment in which it ends, while its
pods still have their grace. What it has given away by now is in no single answer of it, so nobody
is bound there until they are gone. Pods that end before their job do leave no such gap.
"""

from collections.abc import Iterable

from windlass.bridge.observed import ended, leaving
from windlass.kube.objects import Pod
from windlass.slurm.model import Job


def crowded(pods: Iterable[tuple[Pod, Job | None]], job: int) -> bool:
    """Whether the pods of a new job have to wait; each pod there comes with its own job."""
    return any(not ended(pod) and _holds_nothing(pod, its, job) for pod, its in pods)


def _holds_nothing(pod: Pod, its: Job | None, job: int) -> bool:
    if its is None or not its.state.running:
        return True
    return its.id == job and leaving(pod)  # its place in the job is the next one's already
