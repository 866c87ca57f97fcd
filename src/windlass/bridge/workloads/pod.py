"""A pod that is scheduled for itself, whoever owns it."""

from collections.abc import Sequence

from windlass.bridge.devices import DeviceMap
from windlass.bridge.gang import Gang, GangKey
from windlass.bridge.workloads.assembling import Frame, Slot, assemble
from windlass.bridge.workloads.objects import Job
from windlass.bridge.workloads.surroundings import Around, Surroundings
from windlass.kube.kinds import POD
from windlass.kube.objects import Pod


def key(pod: Pod, _: Surroundings) -> GangKey:
    return GangKey(POD.kind, pod.metadata.namespace, pod.metadata.name)


def gang(pods: Sequence[Pod], around: Around, devices: DeviceMap) -> Gang:
    pod = pods[0]
    job = around(pods[0]).owner(Job)
    frame = Frame(
        key=key(pod, around(pod)),
        uid=pod.metadata.uid,
        name=pod.metadata.name,
        least=1,
        deadline=job.spec.active_deadline_seconds if job else None,
    )
    return assemble(frame, [Slot(0, pod, pod.spec)], around, devices)
