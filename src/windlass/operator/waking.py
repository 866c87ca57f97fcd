"""Who has to look when something changes: a custom resource, what it names, what it owns."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from windlass.api import labels
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.meta import Object, PartialObject
from windlass.kube.objects import Node, Pod
from windlass.kube.queue import Queue
from windlass.kube.store import Subscriber
from windlass.kube.waking import waking
from windlass.kube.wire import Document
from windlass.operator.references import Reference, references
from windlass.operator.world import CHILDREN, CONTENT, RESOURCES, World, served_by
from windlass.values.key import Key

Queues: TypeAlias = Mapping[Kind, Queue[Key]]

# Whose change also concerns what it names: slurm.conf lists node sets, slurmdbd shares keys.
LOOKED_AT_BY_NAMED: Final = frozenset({kinds.NODE_SET, kinds.CONTROLLER})
_KINDS: Final = {(kind.api_version, kind.kind): kind for kind in RESOURCES}


def wire(world: World, queues: Queues) -> None:
    """Subscribe the queues to all that the world watches."""
    Waking(world, queues).subscribe()


class Waking:
    def __init__(self, world: World, queues: Queues) -> None:
        self._world = world
        self._queues = queues

    def subscribe(self) -> None:
        for kind in RESOURCES:
            for store in self._world.stores(kind):
                store.subscribe(self._resource(kind))
        for kind in (*CHILDREN, kinds.SERVICE_MONITOR, kinds.CONTROLLER_REVISION):
            for store in self._world.stores(kind):
                store.subscribe(self._child)
        for kind in CONTENT:
            for content in self._world.content_stores(kind):
                content.subscribe(self._content(kind))
        self._subscribe_to_pods()
        for claims in self._world.claim_stores():
            claims.subscribe(self._claim)
        self._world.host_store.subscribe(self._host)

    def _subscribe_to_pods(self) -> None:
        for kind, queue in self._queues.items():
            for pods in self._world.pod_stores():
                pods.subscribe(waking(queue, _served(kind)))

    def _host(self, old: Node | None, new: Node | None) -> None:
        """Wake those with a worker there, and those who look at all nodes."""
        if old is not None and new is not None and _standing(old) == _standing(new):
            return
        item = new or old
        if item is not None:
            for pod in self._world.workers_on(item.metadata.name):
                self._wake(served_by(pod))
            for store in self._world.stores(kinds.NODE_SET):
                self._wake(
                    (kinds.NODE_SET, each.metadata.key) for each in store if _looks_at_hosts(each)
                )

    def _resource(self, kind: Kind) -> Subscriber[Document]:
        def wake(old: Document | None, new: Document | None) -> None:
            if old is not None and new is not None and not asked_anew(old, new):
                return
            for item in (old, new):
                if item is not None:
                    self._wake_around(kind, item)

        return wake

    def _child(self, old: Document | None, new: Document | None) -> None:
        for item in (old, new):
            if item is not None:
                self._wake(_owners(item))

    def _content(self, kind: Kind) -> Subscriber[PartialObject]:
        def wake(old: PartialObject | None, new: PartialObject | None) -> None:
            item = new or old
            if item is not None:
                found = {*_owners(item), *self._referring((kind, item.metadata.key))}
                self._wake(found)
                self._wake_clusters(found)

        return wake

    def _claim(self, old: PartialObject | None, new: PartialObject | None) -> None:
        """Wake the set of a claim; not when it is only bound or resized."""
        if old is not None and new is not None and _held(old) == _held(new):
            return
        item = new or old
        if item is not None:
            self._wake(served_by(item))

    def _wake_around(self, kind: Kind, item: Document) -> None:
        own = (kind, item.metadata.key)
        self._wake([own, *self._referring(own)])
        if kind in LOOKED_AT_BY_NAMED:
            self._wake(references(kind, item))
        if kind == kinds.ACCOUNTING:
            self._wake_clusters([own])

    def _wake_clusters(self, those: Iterable[Reference]) -> None:
        """Wake all of the clusters whose keys come from one of these."""
        for reference in those:
            shares = reference[0] == kinds.ACCOUNTING
            for each in self._referring(reference) if shares else [reference]:
                if each[0] == kinds.CONTROLLER:
                    self._wake(self._cluster(each))

    def _cluster(self, controller: Reference) -> Iterable[Reference]:
        """All that shares a controller's keys and configuration."""
        yield from self._referring(controller)
        found = self._world.get(*controller)
        if found is not None:
            yield from references(kinds.CONTROLLER, found)

    def _referring(self, to: Reference) -> list[Reference]:
        return [
            (kind, item.metadata.key)
            for kind in RESOURCES
            for item in self._world.referring(kind, to)
        ]

    def _wake(self, those: Iterable[Reference]) -> None:
        for kind, key in those:
            queue = self._queues.get(kind)
            if queue is not None:
                queue.add(key)


def asked_anew(old: Object, new: Object) -> bool:
    """Whether more than a status changed; our own writes must not wake us."""
    before, after = old.metadata, new.metadata
    return (before.uid, before.generation, before.labels, before.annotations) != (
        after.uid,
        after.generation,
        after.labels,
        after.annotations,
    ) or before.deletion_timestamp != after.deletion_timestamp


def _standing(host: Node) -> tuple[object, ...]:
    """What of a Kubernetes node concerns its workers; its heartbeats do not."""
    conditions = [
        (each.type, each.status, each.reason, each.message) for each in host.status.conditions or ()
    ]
    meta, spec = host.metadata, host.spec
    return meta.labels, meta.annotations, spec.unschedulable, spec.taints, conditions


def _held(claim: PartialObject) -> tuple[object, ...]:
    """What of a claim concerns its worker."""
    meta = claim.metadata
    mark = (meta.annotations or {}).get(labels.UNWANTED_SINCE)
    return meta.uid, meta.owner_references, meta.deletion_timestamp, mark


def _looks_at_hosts(node_set: Document) -> bool:
    """One worker on every node that fits, or workers that wait for the node they were on."""
    spec = node_set.body.get("spec") or {}
    return spec.get("scalingMode") == "DaemonSet" or bool(spec.get("pinToNode"))


def _owners(item: Object) -> list[Reference]:
    """The custom resources that own an object, alone or together."""
    metadata = item.metadata
    return [
        (kind, Key(metadata.namespace, owner.name))
        for owner in metadata.owner_references or ()
        if (kind := _KINDS.get((owner.api_version, owner.kind)))
    ]


def _served(kind: Kind) -> Callable[[Pod], list[Key]]:
    def keys(pod: Pod) -> list[Key]:
        return [key for of, key in served_by(pod) if of == kind]

    return keys
