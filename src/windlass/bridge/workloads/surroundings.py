"""What there is around a pod: its owners and the groups that it names, as somebody looked them up.

Owners that nobody watches do no harm: a pod of such a controller is a pod like any other. One that
is watched and not there yet is waited for, or a gang would start without the pods seen first.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from windlass.bridge.annotations import Reading, Wishes, merge, read
from windlass.bridge.workloads.objects import (
    CorePodGroup,
    Job,
    JobSet,
    LeaderWorkerSet,
    PodGroup,
    Workload,
)
from windlass.kube.kinds import POD
from windlass.kube.meta import Meta, OwnerReference, PartialObject
from windlass.kube.objects import Pod

Owned: TypeAlias = Job | JobSet | LeaderWorkerSet | PartialObject
T = TypeVar("T", Job, JobSet, LeaderWorkerSet)
DEEPEST: Final = 32
"""More owners above each other than anybody has; what has more goes in a circle."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A controller above a pod; of kinds that are not understood the metadata alone."""

    kind: str
    object: Owned

    @property
    def of(self) -> str:
        return f"{self.kind} {self.object.metadata.name}"


Lookup: TypeAlias = Callable[[OwnerReference], Owner | None]


def owners(pod: Meta, lookup: Lookup, watched: Collection[str]) -> tuple[tuple[Owner, ...], str]:
    """The owners of a pod from the nearest up, and which of a watched kind is not there."""
    found: list[Owner] = []
    above = pod.controller
    while above is not None and len(found) < DEEPEST:
        owner = lookup(above)
        if owner is None or owner.object.metadata.uid != above.uid:
            return tuple(found), f"{above.kind} {above.name}" if above.kind in watched else ""
        found.append(owner)
        above = owner.object.metadata.controller
    return tuple(found), ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    owners: tuple[Owner, ...] = ()
    """By controller references, the pod's own controller first."""
    missing: str = ""
    """The owner that ought to be known and is not."""
    pod_group: PodGroup | None = None
    """The one of scheduling.x-k8s.io that the pod's label names."""
    core_pod_group: CorePodGroup | None = None
    """The one of scheduling.k8s.io that the pod's spec names."""
    workload: Workload | None = None
    """The one that the core group was made from."""

    def owner(self, kind: type[T]) -> T | None:
        """The highest owner of this kind."""
        for owner in reversed(self.owners):
            if isinstance(owner.object, kind):
                return owner.object
        return None

    def readings(self) -> Iterator[tuple[str, Reading]]:
        """What the objects around the pod ask for, from the farthest to the nearest.

        A pod that owns others, as the leader of a group does, speaks for itself alone.
        """
        for owner in reversed(self.owners):
            if owner.kind != POD.kind:
                yield owner.of, read(owner.object.metadata.annotations, owner.of)
        groups = (
            ("Workload", self.workload),
            ("PodGroup", self.core_pod_group),
            ("PodGroup", self.pod_group),
        )
        for kind, found in groups:
            if found is not None:
                of = f"{kind} {found.metadata.name}"
                yield of, read(found.metadata.annotations, of)

    def wishes(self, pod: Pod) -> Wishes:
        """All that counts for this pod."""
        own = read(pod.metadata.annotations).wishes
        return merge((*(reading.wishes for _, reading in self.readings()), own))


Around: TypeAlias = Callable[[Pod], Surroundings]
"""What is around each pod of a gang; mostly the same."""
