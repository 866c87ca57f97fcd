"""Pods that name a PodGroup: of scheduling.x-k8s.io by a label, of Kubernetes itself in the spec.

The name counts in the pod's own namespace only. A group that is named and not there is waited for:
going ahead alone would break what it is for.
"""

from collections.abc import Sequence

from windlass.bridge import words
from windlass.bridge.devices import DeviceMap
from windlass.bridge.gang import Gang, GangKey
from windlass.bridge.workloads.assembling import Frame, assemble, live, short_of, slots
from windlass.bridge.workloads.surroundings import Around, Surroundings
from windlass.kube.kinds import CORE_POD_GROUP, POD_GROUP
from windlass.kube.objects import Pod
from windlass.values.reason import Reason

COSCHEDULING: str = f"{POD_GROUP.kind}.{POD_GROUP.group}"
CORE: str = f"{CORE_POD_GROUP.kind}.{CORE_POD_GROUP.group}"


def core_name(pod: Pod) -> str:
    """The group of Kubernetes' own that a pod names."""
    return pod.spec.scheduling_group.pod_group_name if pod.spec.scheduling_group else ""


def coscheduling_name(pod: Pod) -> str:
    """The group of scheduling.x-k8s.io that a pod names."""
    return (pod.metadata.labels or {}).get(words.POD_GROUP, "")


def key(pod: Pod, around: Surroundings) -> GangKey | None:
    """None for the pods of a group that is no gang."""
    if name := core_name(pod):
        group = around.core_pod_group
        if group is not None and group.spec.scheduling_policy.gang is None:
            return None
        return GangKey(CORE, pod.metadata.namespace, name)
    if name := coscheduling_name(pod):
        return GangKey(COSCHEDULING, pod.metadata.namespace, name)
    return None


def gang(pods: Sequence[Pod], around: Around, devices: DeviceMap) -> Gang:
    there = live(pods)
    return assemble(_frame(pods[0], around(pods[0]), len(there)), slots(there), around, devices)


def _frame(pod: Pod, around: Surroundings, there: int) -> Frame:
    found = key(pod, around)
    assert found is not None
    if found.kind == CORE:
        return _core(found, around, there)
    group = around.pod_group
    if group is None:
        return _missing(found)
    least = max(group.spec.min_member, 1)
    return Frame(
        key=found,
        uid=group.metadata.uid,
        name=group.metadata.name,
        least=least,
        waits=short_of(there, least),
    )


def _core(found: GangKey, around: Surroundings, there: int) -> Frame:
    group = around.core_pod_group
    if group is None:
        return _missing(found)
    policy = group.spec.scheduling_policy.gang
    least = max(policy.min_count, 1) if policy else 1
    return Frame(
        key=found,
        uid=group.metadata.uid,
        name=group.metadata.name,
        least=least,
        priority_class=group.spec.priority_class_name,
        waits=short_of(there, least),
    )


def _missing(found: GangKey) -> Frame:
    sentence = f"there is no {found.kind} called {found.name}"
    waits = Reason("PodGroupMissing", sentence)
    return Frame(key=found, uid="", name=found.name, least=1, waits=waits)
