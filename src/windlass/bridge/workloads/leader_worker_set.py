"""A group of a LeaderWorkerSet: its leader has rank 0, its workers come after it.

Where workers are made only once their leader is ready, their places are asked for with the
leader's, and kept for them.
"""

from collections.abc import Sequence

from windlass.bridge import words
from windlass.bridge.devices import DeviceMap
from windlass.bridge.gang import Gang, GangKey
from windlass.bridge.workloads.assembling import Frame, Slot, assemble, index, live, short_of
from windlass.bridge.workloads.objects import LeaderWorkerSet
from windlass.bridge.workloads.surroundings import Around, Surroundings
from windlass.kube import kinds
from windlass.kube.objects import Pod
from windlass.values.reason import Reason

SIZE: str = "leaderworkerset.sigs.k8s.io/size"


def key(pod: Pod, around: Surroundings) -> GangKey | None:
    found = around.owner(LeaderWorkerSet)
    group = (pod.metadata.labels or {}).get(words.GROUP_INDEX)
    if found is None or group is None:
        return None
    kind = kinds.LEADER_WORKER_SET.kind
    return GangKey(kind, pod.metadata.namespace, found.metadata.name, group)


def gang(pods: Sequence[Pod], around: Around, devices: DeviceMap) -> Gang:
    found, group = around(pods[0]).owner(LeaderWorkerSet), key(pods[0], around(pods[0]))
    assert found is not None
    assert group is not None
    there = {index(pod) or 0: pod for pod in live(pods)}
    size, leader = _size(found, there), there.get(0)
    frame = Frame(
        key=group,
        uid=found.metadata.uid,
        attempt=leader.metadata.uid if leader else "",
        name=f"{found.metadata.name}-{group.part}",
        least=size,
        waits=_waits(found, there, size),
    )
    places = [_slot(rank, there.get(rank), found) for rank in range(size)]
    kept = _leader_first(found)
    slots = [slot for slot in places if kept or slot.pod is not None]
    return assemble(frame, slots, around, devices)


def _size(found: LeaderWorkerSet, there: dict[int, Pod]) -> int:
    """As the group was made: the set may have another size by now."""
    for pod in there.values():
        said = (pod.metadata.annotations or {}).get(SIZE, "")
        if said.isdecimal() and int(said):
            return int(said)
    return found.spec.leader_worker_template.size or 1


def _leader_first(found: LeaderWorkerSet) -> bool:
    return found.spec.startup_policy == "LeaderReady"


def _slot(rank: int, pod: Pod | None, found: LeaderWorkerSet) -> Slot:
    if pod is not None:
        return Slot(rank, pod, pod.spec)
    return Slot(rank, None, found.spec.leader_worker_template.worker_template.spec)


def _waits(found: LeaderWorkerSet, there: dict[int, Pod], size: int) -> Reason | None:
    if 0 not in there:
        return Reason("LeaderMissing", "the leader of the group is not there")
    return None if _leader_first(found) else short_of(len(there), size)
