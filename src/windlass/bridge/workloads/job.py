"""A Job whose pods start together.

That is one whose pods are all there at once, each with an index of its own: what Kubernetes 1.36
takes for a gang as well. The annotation `gang` says otherwise. The pods of other Jobs go one by
one, as room comes up.
"""

from collections.abc import Iterator, Sequence

from windlass.api.validation.findings import Finding, Problem
from windlass.bridge.devices import DeviceMap
from windlass.bridge.gang import Gang, GangKey
from windlass.bridge.workloads.assembling import Frame, assemble, live, short_of, slots
from windlass.bridge.workloads.objects import Job, JobSpec
from windlass.bridge.workloads.surroundings import Around, Surroundings
from windlass.kube.kinds import JOB
from windlass.kube.objects import Pod


def key(pod: Pod, around: Surroundings) -> GangKey | None:
    job = around.owner(Job)
    if job is None:
        return None
    asked = around.wishes(pod).gang
    if not (_together(job.spec) if asked is None else asked):
        return None
    return GangKey(JOB.kind, pod.metadata.namespace, job.metadata.name)


def gang(pods: Sequence[Pod], around: Around, devices: DeviceMap) -> Gang:
    job = around(pods[0]).owner(Job)
    assert job is not None
    there, expected = live(pods), _expected(job)
    frame = Frame(
        key=GangKey(JOB.kind, job.metadata.namespace, job.metadata.name),
        uid=job.metadata.uid,
        name=job.metadata.name,
        least=expected,
        done=job.status.succeeded,
        deadline=job.spec.active_deadline_seconds,
        findings=tuple(_never_together(job.spec)),
        waits=short_of(len(there), expected),
    )
    return assemble(frame, slots(there), around, devices)


def pods_at_once(spec: JobSpec) -> int:
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    return parallelism if spec.completions is None else min(parallelism, spec.completions)


def _together(spec: JobSpec) -> bool:
    at_once = pods_at_once(spec)
    return spec.completion_mode == "Indexed" and at_once > 1 and spec.completions == at_once


def _expected(job: Job) -> int:
    """Indices that have succeeded get no pod any more."""
    at_once = pods_at_once(job.spec)
    if job.spec.completions is not None:
        at_once = min(at_once, job.spec.completions - job.status.succeeded)
    return max(at_once, 1)


def _never_together(spec: JobSpec) -> Iterator[Finding]:
    if spec.completions is not None and spec.completions > pods_at_once(spec):
        yield Problem(
            "spec.parallelism",
            f"{spec.parallelism or 1} of {spec.completions} pods never all start together",
            "make parallelism equal to completions, or take the annotation gang away",
        )
