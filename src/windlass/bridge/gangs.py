"""Gangs as they were built last: anew only when a pod of one, or what is around it, has changed."""

from collections.abc import Sequence
from typing import NamedTuple

from windlass.bridge.devices import DeviceMap
from windlass.bridge.gang import Gang, GangKey
from windlass.bridge.workloads import choosing
from windlass.bridge.workloads.surroundings import Surroundings
from windlass.kube.objects import Pod


class _Built(NamedTuple):
    pods: tuple[Pod, ...]
    around: tuple[Surroundings, ...]
    gang: Gang


class Gangs:
    def __init__(self, devices: DeviceMap) -> None:
        self._devices = devices
        self._built: dict[GangKey, _Built] = {}

    def forget(self, key: GangKey) -> None:
        self._built.pop(key, None)

    def of(self, key: GangKey, pods: Sequence[Pod], around: Sequence[Surroundings]) -> Gang:
        """Of pods with what is around each, of which the first lives."""
        known = self._built.get(key)
        if known is not None and _same(known.pods, pods) and _same(known.around, around):
            return known.gang
        found = {pod.metadata.uid: there for pod, there in zip(pods, around, strict=True)}
        gang = choosing.gang(pods, lambda pod: found[pod.metadata.uid], self._devices)
        self._built[key] = _Built(tuple(pods), tuple(around), gang)
        return gang


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    """The very same: copies are never written on."""
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
