"""Pods that have ended go once Slurm has been told of them."""

from collections.abc import Iterator

from windlass.bridge.dra import claim_name, wishes
from windlass.bridge.observed import (
    Observed,
    SlurmSide,
    bound,
    ended,
    job_id,
    kept,
    leaving,
    target,
)
from windlass.bridge.plan import Release
from windlass.bridge.standing import lost, occupies, pods_of
from windlass.kube.objects import Pod


def release(seen: Observed, slurm: SlurmSide) -> Iterator[Release]:
    for pod in seen.pods:
        if kept(pod) and _is_free(pod, seen, slurm):
            claim = claim_name(pod.metadata) if wishes(pod.spec) else ""
            yield Release(target(pod), claim)


def _is_free(pod: Pod, seen: Observed, slurm: SlurmSide) -> bool:
    """Never bound, or ended while its job has ended too or goes on for others."""
    if leaving(pod) and not bound(pod):
        return True
    if not (ended(pod) or (leaving(pod) and lost(pod, seen))):
        return False
    number = job_id(pod)
    job = None if number is None else slurm.noted.get(number)
    if number is None or job is None or job.state.ended:
        return True
    return any(occupies(other, seen) for other in pods_of(seen, number))
