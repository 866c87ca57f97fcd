"""Which gang a pod belongs to, and the gang of such pods.

A group that the pod names goes before its owners, and a higher owner before a lower one.
"""

from collections.abc import Sequence

from windlass.bridge.devices import DeviceMap
from windlass.bridge.gang import Gang, GangKey
from windlass.bridge.workloads import job, job_set, leader_worker_set, pod_group
from windlass.bridge.workloads import pod as single
from windlass.bridge.workloads.surroundings import Around, Surroundings
from windlass.kube import kinds
from windlass.kube.objects import Pod

_BUILDERS = {
    pod_group.CORE: pod_group.gang,
    pod_group.COSCHEDULING: pod_group.gang,
    kinds.LEADER_WORKER_SET.kind: leader_worker_set.gang,
    kinds.JOB_SET.kind: job_set.gang,
    kinds.JOB.kind: job.gang,
    kinds.POD.kind: single.gang,
}


def key(pod: Pod, around: Surroundings) -> GangKey:
    if pod_group.core_name(pod):
        return pod_group.key(pod, around) or single.key(pod, around)
    return (
        pod_group.key(pod, around)
        or leader_worker_set.key(pod, around)
        or job_set.key(pod, around)
        or job.key(pod, around)
        or single.key(pod, around)
    )


def gang(pods: Sequence[Pod], around: Around, devices: DeviceMap) -> Gang:
    """The gang of pods that have one key, of which the first lives; `around` knows what is around
    each."""
    return _BUILDERS[key(pods[0], around(pods[0])).kind](pods, around, devices)
