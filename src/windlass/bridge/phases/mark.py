"""Pods that are bound are held with our finalizer until Slurm has been told of their end.

It comes after the binding, since nobody needs it sooner. One that ends or is deleted before needs
it no more: what became of it is told while it is seen, and whoever vanishes has ended.
"""

from collections.abc import Iterator

from windlass.bridge import words
from windlass.bridge.observed import Observed, SlurmSide, job_id, target, unmarked
from windlass.bridge.plan import Mark
from windlass.bridge.standing import lost
from windlass.kube.json_patch import Operation, difference
from windlass.kube.objects import Pod


def mark(seen: Observed, slurm: SlurmSide) -> Iterator[Mark]:
    for pod in seen.pods:
        number = job_id(pod)
        job = None if number is None else slurm.noted.get(number)
        if job is not None and job.state.running and unmarked(pod) and not lost(pod, seen):
            yield marked(pod, job.id)


def marked(pod: Pod, job: int) -> Mark:
    return Mark(target(pod), tuple(_operations(pod, job)))


def _operations(pod: Pod, job: int) -> Iterator[Operation]:
    """What others have there stays, whatever they do meanwhile."""
    finalizers, labels = list(pod.metadata.finalizers or ()), dict(pod.metadata.labels or {})
    shown = {name: had for name, had in (("finalizers", finalizers), ("labels", labels)) if had}
    wanted = {
        "finalizers": [*finalizers, words.FINALIZER],
        "labels": {**labels, words.JOB_ID: str(job)},
    }
    yield {"op": "test", "path": "/metadata/uid", "value": pod.metadata.uid}
    yield {"op": "test", "path": "/metadata/finalizers", "value": finalizers or None}
    if not labels:
        yield {"op": "test", "path": "/metadata/labels", "value": None}
    yield from difference({"metadata": shown}, {"metadata": wanted})
