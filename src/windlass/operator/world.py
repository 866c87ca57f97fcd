"""What the operator sees of Kubernetes: copies that watches keep, and content read when it changes.

Of Secrets and ConfigMaps only the metadata is watched, since a cluster has thousands that are none
of our business; the few that custom resources name are read, and read again when they change.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from windlass.api import labels
from windlass.kube import kinds, requests, sharing
from windlass.kube.errors import NotFound
from windlass.kube.kinds import Kind
from windlass.kube.meta import Object, PartialObject
from windlass.kube.objects import Node, Pod
from windlass.kube.reflector import Mirror
from windlass.kube.requests import Selection, Sends
from windlass.kube.store import Store
from windlass.kube.watch import Watched
from windlass.kube.wire import Document
from windlass.operator.references import PATHS, Reference, references
from windlass.operator.workers.identity import slurm_name
from windlass.values.key import Key

RESOURCES: Final = tuple(PATHS)
CHILDREN: Final = (
    kinds.STATEFUL_SET,
    kinds.DEPLOYMENT,
    kinds.SERVICE,
    kinds.POD_DISRUPTION_BUDGET,
)
CONTENT: Final = (kinds.SECRET, kinds.CONFIG_MAP)
DAEMONS: Final = {
    "slurmctld": kinds.CONTROLLER,
    "slurmdbd": kinds.ACCOUNTING,
    "slurmrestd": kinds.REST_API,
    "login": kinds.LOGIN_SET,
    "slurmd": kinds.NODE_SET,
}
OUR_PODS: Final = f"{labels.NAME} in ({','.join(DAEMONS)})"
OF_WORKERS: Final = f"{labels.NAME}=slurmd"
REFERS: Final = "refers"
SERVED_BY: Final = "served by"
SLURM_NODE: Final = "slurm node"
ON_HOST: Final = "on host"


class View(Protocol):
    """What a room reads."""

    def get(self, kind: Kind, key: Key) -> Document | None: ...

    def referring(self, kind: Kind, to: Reference) -> list[Document]: ...

    def pods(self, of: Kind, key: Key) -> list[Pod]: ...

    def revisions(self, of: Key) -> list[Document]: ...

    def claims(self, of: Key) -> list[PartialObject]: ...

    def host(self, name: str) -> Node | None: ...

    def hosts(self) -> list[Node]: ...

    async def read(self, kind: Kind, key: Key) -> Document | None: ...


@dataclass(frozen=True, slots=True)
class Watches:
    """Every watch of the operator: one set for all namespaces, or one for each that it may see."""

    resources: dict[tuple[Kind, str], Watched[Document]]
    children: dict[tuple[Kind, str], Watched[Document]]
    """Of ControllerRevisions those of worker sets alone."""
    content: dict[tuple[Kind, str], Watched[PartialObject]]
    pods: dict[str, Watched[Pod]]
    claims: dict[str, Watched[PartialObject]]
    """Of PersistentVolumeClaims those of workers."""
    hosts: Watched[Node]

    def __iter__(self) -> Iterator[Watched[Any]]:
        for group in (self.resources, self.children, self.content, self.pods, self.claims):
            yield from group.values()
        yield self.hosts


def watches(namespaces: Sequence[str], *, monitors: bool = False) -> Watches:
    """Watches over these namespaces; over all where none is named."""
    places = tuple(namespaces) or ("",)
    children = (*CHILDREN, kinds.SERVICE_MONITOR) if monitors else CHILDREN
    return Watches(
        resources={(kind, place): _resource(kind, place) for kind in RESOURCES for place in places},
        children={
            (kind, place): _child(kind, place)
            for kind in (*children, kinds.CONTROLLER_REVISION)
            for place in places
        },
        content={
            (kind, place): Watched(kind, PartialObject, Selection(place, metadata_only=True))
            for kind in CONTENT
            for place in places
        },
        pods={
            place: Watched(
                kinds.POD,
                Pod,
                Selection(place, labels=OUR_PODS),
                {SERVED_BY: served_by, SLURM_NODE: slurm_node, ON_HOST: on_host},
                sharing.pods(),
            )
            for place in places
        },
        claims={
            place: Watched(
                kinds.PERSISTENT_VOLUME_CLAIM,
                PartialObject,
                Selection(place, labels=OF_WORKERS, metadata_only=True),
                {SERVED_BY: served_by},
            )
            for place in places
        },
        hosts=Watched(kinds.NODE, Node, kept=sharing.nodes()),
    )


def _resource(kind: Kind, namespace: str) -> Watched[Document]:
    def refers(item: Document) -> Iterable[Reference]:
        return references(kind, item)

    return Watched(kind, Document, Selection(namespace), {REFERS: refers})


def _child(kind: Kind, namespace: str) -> Watched[Document]:
    if kind != kinds.CONTROLLER_REVISION:
        return Watched(kind, Document, Selection(namespace))
    return Watched(kind, Document, Selection(namespace, labels=OF_WORKERS), {SERVED_BY: served_by})


def served_by(pod: Object) -> tuple[Reference, ...]:
    """The custom resource that a daemon's pod belongs to, or a revision or claim of such pods."""
    given = pod.metadata.labels or {}
    kind, instance = DAEMONS.get(given.get(labels.NAME, "")), given.get(labels.INSTANCE)
    return ((kind, Key(pod.metadata.namespace, instance)),) if kind and instance else ()


def slurm_node(pod: Pod) -> tuple[tuple[Key, str], ...]:
    """Of a worker: its Controller, and its name in Slurm."""
    given = pod.metadata.labels or {}
    cluster = given.get(labels.CLUSTER)
    if not cluster or DAEMONS.get(given.get(labels.NAME, "")) != kinds.NODE_SET:
        return ()
    return ((Key(pod.metadata.namespace, cluster), slurm_name(pod)),)


def on_host(pod: Pod) -> tuple[str, ...]:
    """Of a worker: the Kubernetes node that it is on."""
    worker = DAEMONS.get((pod.metadata.labels or {}).get(labels.NAME, "")) == kinds.NODE_SET
    return (pod.spec.node_name,) if worker and pod.spec.node_name else ()


class World:
    """The copies of one process."""

    def __init__(self, client: Sends, mirror: Mirror, watched: Watches) -> None:
        self._client = client
        self._documents = {
            at: mirror.store(each) for at, each in (watched.resources | watched.children).items()
        }
        self._content = {at: mirror.store(each) for at, each in watched.content.items()}
        self._pods = {place: mirror.store(each) for place, each in watched.pods.items()}
        self._claims = {place: mirror.store(each) for place, each in watched.claims.items()}
        self.host_store = mirror.store(watched.hosts)
        self._read: dict[tuple[Kind, Key], Document] = {}

    # --- reading ---------------------------------------------------------------------------

    def get(self, kind: Kind, key: Key) -> Document | None:
        """A custom resource or a child, as the watch shows it."""
        stores = self.stores(kind, key.namespace)
        return next((found for store in stores if (found := store.get(key))), None)

    def referring(self, kind: Kind, to: Reference) -> list[Document]:
        """The custom resources of a kind that name this object, the oldest first."""
        found = [
            item for store in self.stores(kind, to[1].namespace) for item in store.by(REFERS, to)
        ]
        return sorted(found, key=_age)

    def pods(self, of: Kind, key: Key) -> list[Pod]:
        """The pods of a custom resource, by name."""
        found = [
            pod
            for store in self.pod_stores(key.namespace)
            for pod in store.by(SERVED_BY, (of, key))
        ]
        return sorted(found, key=lambda pod: pod.metadata.name)

    def revisions(self, of: Key) -> list[Document]:
        """The ControllerRevisions of a NodeSet, by name."""
        stores = self.stores(kinds.CONTROLLER_REVISION, of.namespace)
        found = [item for store in stores for item in store.by(SERVED_BY, (kinds.NODE_SET, of))]
        return sorted(found, key=lambda item: item.metadata.name)

    def claims(self, of: Key) -> list[PartialObject]:
        """The PersistentVolumeClaims of a NodeSet's workers, by name."""
        stores = self.claim_stores(of.namespace)
        found = [item for store in stores for item in store.by(SERVED_BY, (kinds.NODE_SET, of))]
        return sorted(found, key=lambda item: item.metadata.name)

    def workers(self, controller: Key, name: str) -> list[Pod]:
        """The pods that a Slurm node of that name may stand for: one, or two for a moment."""
        stores = self.pod_stores(controller.namespace)
        return [pod for store in stores for pod in store.by(SLURM_NODE, (controller, name))]

    def workers_on(self, host: str) -> list[Pod]:
        """The worker pods of a Kubernetes node."""
        return [pod for store in self.pod_stores() for pod in store.by(ON_HOST, host)]

    def host(self, name: str) -> Node | None:
        """A Kubernetes node."""
        return self.host_store.get(Key("", name))

    def hosts(self) -> list[Node]:
        return sorted(self.host_store, key=lambda host: host.metadata.name)

    async def read(self, kind: Kind, key: Key) -> Document | None:
        """A Secret or ConfigMap with its content; asked for only if it changed since."""
        seen = self._seen(kind, key)
        if seen is None:
            self._read.pop((kind, key), None)
            return None
        known = self._read.get((kind, key))
        if known is not None and known.metadata.resource_version == seen.metadata.resource_version:
            return known
        try:
            found = await self._client.send(requests.get(kind, key, Document))
        except NotFound:
            return None
        self._read[(kind, key)] = found
        return found

    def exists(self, kind: Kind, key: Key) -> bool:
        return self._seen(kind, key) is not None

    # --- the stores, for those who subscribe -------------------------------------------------

    def stores(self, kind: Kind, namespace: str = "") -> list[Store[Document]]:
        return [
            store
            for (of, place), store in self._documents.items()
            if of == kind and _covers(place, namespace)
        ]

    def content_stores(self, kind: Kind, namespace: str = "") -> list[Store[PartialObject]]:
        return [
            store
            for (of, place), store in self._content.items()
            if of == kind and _covers(place, namespace)
        ]

    def pod_stores(self, namespace: str = "") -> list[Store[Pod]]:
        return [store for place, store in self._pods.items() if _covers(place, namespace)]

    def claim_stores(self, namespace: str = "") -> list[Store[PartialObject]]:
        return [store for place, store in self._claims.items() if _covers(place, namespace)]

    def _seen(self, kind: Kind, key: Key) -> PartialObject | None:
        stores = self.content_stores(kind, key.namespace)
        return next((found for store in stores if (found := store.get(key))), None)


def _covers(place: str, namespace: str) -> bool:
    """Whether a watch over `place` shows a namespace; "" stands for all of them on both sides."""
    return "" in (place, namespace) or place == namespace


def _age(item: Document) -> tuple[str, str]:
    return str(item.body["metadata"].get("creationTimestamp", "")), item.metadata.name
