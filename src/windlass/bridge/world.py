"""What the bridge sees of Kubernetes: copies of pods of its scheduler and of what is around them.

Which gang a pod belongs to depends on its owners and groups, which come and go by themselves. So
it is noted for each pod whom it was looked up with, and looked up anew when one of those changes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from windlass.bridge.gang import GangKey
from windlass.bridge.neighbours import Neighbour, selection
from windlass.bridge.observed import job_id
from windlass.bridge.ports import host_ports
from windlass.bridge.slices import NOTHING as NO_DEVICES
from windlass.bridge.slices import Inventory, ResourceSlice, inventory
from windlass.bridge.uneventful import seated, uneventful
from windlass.bridge.workloads import choosing, pod_group
from windlass.bridge.workloads.objects import (
    CorePodGroup,
    Job,
    JobSet,
    LeaderWorkerSet,
    PodGroup,
    Workload,
)
from windlass.bridge.workloads.surroundings import Owner, Surroundings, owners
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.meta import Meta, Object, OwnerReference, PartialObject
from windlass.kube.objects import Node, Pod
from windlass.kube.reflector import Mirror
from windlass.kube.requests import Selection
from windlass.kube.store import Store
from windlass.kube.watch import Watched
from windlass.values.key import Key

JOB: Final = "job"
NODE: Final = "node"
PORT: Final = "port"
OPTIONAL: Final = (
    kinds.JOB_SET,
    kinds.LEADER_WORKER_SET,
    kinds.POD_GROUP,
    kinds.CORE_POD_GROUP,
    kinds.WORKLOAD,
    kinds.RESOURCE_SLICE,
)
"""Kinds that not every API server has."""
STRUCTS: Final[Mapping[Kind, type[Any]]] = {
    kinds.JOB: Job,
    kinds.JOB_SET: JobSet,
    kinds.LEADER_WORKER_SET: LeaderWorkerSet,
    kinds.POD_GROUP: PodGroup,
    kinds.CORE_POD_GROUP: CorePodGroup,
    kinds.WORKLOAD: Workload,
    kinds.STATEFUL_SET: PartialObject,
    kinds.REPLICA_SET: PartialObject,
}
OWNERS: Final = (
    kinds.JOB,
    kinds.JOB_SET,
    kinds.LEADER_WORKER_SET,
    kinds.STATEFUL_SET,
    kinds.REPLICA_SET,
)
Reference: TypeAlias = tuple[Kind, Key]


@dataclass(frozen=True, slots=True)
class Watches:
    pods: Watched[Pod]
    others: Watched[Neighbour]
    """Pods of other schedulers that are on nodes."""
    nodes: Watched[Node]
    namespaces: Watched[PartialObject]
    around: Mapping[Kind, Watched[Any]]
    """Owners of pods and the groups that pods name."""
    slices: Watched[ResourceSlice] | None = None
    """The devices of nodes, where drivers publish them."""

    def __iter__(self) -> Iterator[Watched[Any]]:
        yield from (self.pods, self.others, self.nodes, self.namespaces)
        yield from self.around.values()
        if self.slices is not None:
            yield self.slices


def watches(scheduler: str, served: Iterable[Kind] = OPTIONAL) -> Watches:
    """Of the kinds that are optional only those that the API server has can be watched."""
    there = set(served)
    known = [kind for kind in STRUCTS if kind not in OPTIONAL or kind in there]
    ours = Selection(fields=f"spec.schedulerName={scheduler}")
    return Watches(
        pods=Watched(kinds.POD, Pod, ours, {JOB: _job, NODE: _node, PORT: _port}),
        others=Watched(kinds.POD, Neighbour, Selection(fields=selection(scheduler))),
        nodes=Watched(kinds.NODE, Node),
        namespaces=Watched(kinds.NAMESPACE, PartialObject, Selection(metadata_only=True)),
        around={kind: _around(kind) for kind in known},
        slices=Watched(kinds.RESOURCE_SLICE, ResourceSlice, indexes={NODE: _published})
        if kinds.RESOURCE_SLICE in there
        else None,
    )


def _around(kind: Kind) -> Watched[Any]:
    struct = STRUCTS[kind]
    return Watched(kind, struct, Selection(metadata_only=struct is PartialObject))


def _job(pod: Pod) -> tuple[int, ...]:
    found = job_id(pod)
    return () if found is None else (found,)


def _node(pod: Pod) -> tuple[str, ...]:
    return (pod.spec.node_name,) if pod.spec.node_name else ()


def _published(each: ResourceSlice) -> tuple[str, ...]:
    return (each.spec.node_name,) if each.spec.node_name else ()


def _port(pod: Pod) -> tuple[tuple[str, int], ...]:
    """What a pod that has no node yet will want of it."""
    return () if pod.spec.node_name else tuple(each[:2] for each in host_ports(pod.spec))


class World:
    """The copies of one process; `wake` hears of every gang that has to be looked at."""

    def __init__(
        self,
        mirror: Mirror,
        watched: Watches,
        wake: Callable[[GangKey], None] = lambda _: None,
    ) -> None:
        self.pods: Store[Pod] = mirror.store(watched.pods)
        self.others: Store[Neighbour] = mirror.store(watched.others)
        self.nodes: Store[Node] = mirror.store(watched.nodes)
        self.slices: Store[ResourceSlice] = (
            mirror.store(watched.slices) if watched.slices else Store({NODE: _published})
        )
        self.namespaces: Store[PartialObject] = mirror.store(watched.namespaces)
        self.wake = wake
        self._around = {kind: mirror.store(each) for kind, each in watched.around.items()}
        self._kinds = {(kind.api_version, kind.kind): kind for kind in self._around}
        self._gang_of: dict[Key, GangKey] = {}
        self._gangs: dict[GangKey, set[Key]] = {}
        self._asked: dict[Key, frozenset[Reference]] = {}
        self._asking: dict[Reference, set[Key]] = {}
        self._surroundings: dict[Key, Surroundings] = {}
        self.pods.subscribe(self._pod_changed)
        for kind, store in self._around.items():
            store.subscribe(self._listening(kind))

    # --- reading ---------------------------------------------------------------------------

    def gang(self, key: GangKey) -> list[Pod]:
        """The pods of a gang, by name."""
        found = (self.pods.get(each) for each in sorted(self._gangs.get(key, ())))
        return [pod for pod in found if pod is not None]

    def gangs(self) -> list[GangKey]:
        return list(self._gangs)

    def gang_of(self, pod: Pod) -> GangKey | None:
        return self._gang_of.get(pod.metadata.key)

    def of_job(self, number: int) -> list[Pod]:
        """The pods that carry the number of a Slurm job."""
        return self.pods.by(JOB, number)

    def on(self, node: str) -> list[Pod]:
        """The pods that are bound to a node."""
        return self.pods.by(NODE, node)

    def waiting_for(self, port: tuple[str, int]) -> list[Pod]:
        """The pods without a node that want this port of theirs."""
        return self.pods.by(PORT, port)

    def node(self, name: str) -> Node | None:
        return self.nodes.get(Key("", name))

    def inventory(self, node: str) -> Inventory:
        """The devices that drivers publish for a node."""
        found = self.slices.by(NODE, node)
        return inventory(found) if found else NO_DEVICES

    def namespace(self, name: str) -> Meta:
        found = self.namespaces.get(Key("", name))
        return found.metadata if found else Meta(name=name)

    def around(self, pod: Pod) -> Surroundings:
        """What is around a pod now."""
        return self._surroundings.get(pod.metadata.key) or self._look(pod)[0]

    # --- who belongs to which gang -----------------------------------------------------------

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        item = new or old
        if item is None:
            return
        if new is None:
            self._forget(item.metadata.key)
        elif old is None or not uneventful(old, new):
            self._file(new, can_wait=old is not None and seated(old, new))

    def _listening(self, kind: Kind) -> Callable[[Object | None, Object | None], None]:
        def changed(old: Object | None, new: Object | None) -> None:
            item = new or old
            if item is not None:
                for key in sorted(self._asking.get((kind, item.metadata.key), ())):
                    if pod := self.pods.get(key):
                        self._file(pod)

        return changed

    def _file(self, pod: Pod, *, can_wait: bool = False) -> None:
        """Put a pod where it belongs, and wake the gang that it was in and the one that it is."""
        at = pod.metadata.key
        around, asked = self._look(pod)
        gang = choosing.key(pod, around)
        before = self._gang_of.get(at)
        if before != gang or self._asked.get(at) != asked:
            self._forget(at)
            self._gang_of[at], self._asked[at] = gang, asked
            self._gangs.setdefault(gang, set()).add(at)
            for reference in asked:
                self._asking.setdefault(reference, set()).add(at)
        if any(owner.kind == kinds.POD.kind for owner in around.owners):
            self._surroundings.pop(at, None)  # nobody tells us here what becomes of that pod
        else:
            self._surroundings[at] = around
        if before != gang or not can_wait:
            self.wake(gang)

    def _forget(self, at: Key) -> None:
        gang = self._gang_of.pop(at, None)
        self._surroundings.pop(at, None)
        if gang is None:
            return
        _discard(self._gangs, gang, at)
        for reference in self._asked.pop(at, ()):
            _discard(self._asking, reference, at)
        self.wake(gang)

    def _look(self, pod: Pod) -> tuple[Surroundings, frozenset[Reference]]:
        looking = _Looking(self._around, self._kinds, self.pods, pod)
        return looking.surroundings(), frozenset(looking.asked)


class _Looking:
    """Finds what is around one pod, and notes what it asked for."""

    def __init__(
        self,
        stores: Mapping[Kind, Store[Any]],
        known: Mapping[tuple[str, str], Kind],
        pods: Store[Pod],
        pod: Pod,
    ) -> None:
        self._stores = stores
        self._known = known
        self._pods = pods
        self._pod = pod
        self.asked: set[Reference] = set()

    def surroundings(self) -> Surroundings:
        pod = self._pod
        watched = {kind.kind for kind in OWNERS if kind in self._stores}
        chain, missing = owners(pod.metadata, self._owner, watched)
        core = self._get(kinds.CORE_POD_GROUP, pod_group.core_name(pod))
        return Surroundings(
            owners=chain,
            missing=missing,
            pod_group=self._get(kinds.POD_GROUP, pod_group.coscheduling_name(pod)),
            core_pod_group=core,
            workload=self._get(kinds.WORKLOAD, _workload(core)),
        )

    def _owner(self, reference: OwnerReference) -> Owner | None:
        kind = self._known.get((reference.api_version, reference.kind))
        if kind is not None:
            found = self._get(kind, reference.name)
            return Owner(kind.kind, found) if found else None
        leader = self._pods.get(Key(self._pod.metadata.namespace, reference.name))
        if reference.kind == kinds.POD.kind and leader is not None:
            return Owner(kinds.POD.kind, PartialObject(metadata=leader.metadata))
        # Of a kind that nobody watches, though it may have the name of one that is.
        return Owner(reference.kind, PartialObject(metadata=_stranger(reference)))

    def _get(self, kind: Kind, name: str) -> Any:
        if not name or kind not in self._stores:
            return None
        at = Key(self._pod.metadata.namespace, name)
        self.asked.add((kind, at))
        return self._stores[kind].get(at)


def _stranger(reference: OwnerReference) -> Meta:
    return Meta(name=reference.name, uid=reference.uid)


def _workload(group: CorePodGroup | None) -> str:
    made_from = group.spec.pod_group_template_ref if group else None
    return made_from.workload.workload_name if made_from and made_from.workload else ""


def _discard(filed: dict[Any, set[Key]], under: Any, at: Key) -> None:
    held = filed.get(under, set())
    held.discard(at)
    if not held:
        filed.pop(under, None)
