"""Objects of a kind that share what they have in common.

The pods of one set have the same containers, tolerations and owner, word for word, and every node
has the same five conditions; as they are read from the wire, each has a copy of its own. What is
made here is equal to what was read and takes less than half of the memory, at no more than the cost
of reading it. Nobody may change the lists and maps of a frozen object, so nobody can tell the
difference.
"""

from collections.abc import Callable, Mapping
from sys import intern
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from windlass.kube.meta import Condition, Meta, OwnerReference
from windlass.kube.objects import Node, NodeStatus, Pod, PodSpec, PodStatus

T = TypeVar("T")

MOST: Final = 1024
"""Different parts that a pool remembers."""

_text: Final = msgspec.json.Encoder().encode


class Pool(Generic[T]):
    """Parts of one type, of which equal ones become the same."""

    def __init__(self, most: int = MOST) -> None:
        self._known: dict[bytes, T] = {}
        self._most = most

    def __call__(self, part: T) -> T:
        if not part:
            return part
        text = _text(part)
        known = self._known.get(text)
        if known is not None:
            return known
        if len(self._known) >= self._most:  # what is in use stays, and is found no more
            self._known.clear()
        self._known[text] = part
        return part


def words(given: dict[str, str] | None) -> dict[str, str] | None:
    """Labels or annotations: maps that differ in little more than a name."""
    return given and {intern(name): intern(value) for name, value in given.items()}


class _Metadata:
    def __init__(self) -> None:
        self._annotations: Pool[dict[str, str] | None] = Pool()
        self._owners: Pool[list[OwnerReference] | None] = Pool()

    def __call__(self, meta: Meta) -> Meta:
        return replace(
            meta,
            name=intern(meta.name),
            namespace=intern(meta.namespace),
            labels=words(meta.labels),
            annotations=self._annotations(words(meta.annotations)),
            owner_references=self._owners(meta.owner_references),
        )


class _Conditions:
    """Their words are few; their times are shared by those that began together."""

    def __init__(self) -> None:
        self._pool: Pool[Condition] = Pool()

    def __call__(self, given: list[Condition] | None) -> list[Condition] | None:
        return given and [self._pool(self._worded(each)) for each in given]

    def _worded(self, given: Condition) -> Condition:
        return replace(
            given,
            type=intern(given.type),
            status=intern(given.status),
            reason=intern(given.reason),
            message=intern(given.message),
        )


def pods() -> Callable[[Pod], Pod]:
    """For the pods of one store."""
    metadata, spec, status = _Metadata(), _PodSpecs(), _PodStatuses()

    def shared(pod: Pod) -> Pod:
        return Pod(metadata=metadata(pod.metadata), spec=spec(pod.spec), status=status(pod.status))

    return shared


class _PodSpecs:
    def __init__(self) -> None:
        self._pools: Mapping[str, Pool[Any]] = {name: Pool() for name in _SPEC_PARTS}
        self._affinity: Pool[Any] = Pool()

    def __call__(self, spec: PodSpec) -> PodSpec:
        parts = {name: pool(getattr(spec, name)) for name, pool in self._pools.items()}
        affinity = spec.affinity and {
            intern(name): self._affinity(value) for name, value in spec.affinity.items()
        }
        return replace(
            spec,
            node_name=intern(spec.node_name),
            hostname=intern(spec.hostname),
            subdomain=intern(spec.subdomain),
            scheduler_name=intern(spec.scheduler_name),
            affinity=affinity,
            **parts,
        )


_SPEC_PARTS: Final = (
    "tolerations",
    "init_containers",
    "containers",
    "volumes",
    "topology_spread_constraints",
)


class _PodStatuses:
    def __init__(self) -> None:
        self._conditions = _Conditions()
        self._containers: Pool[Any] = Pool()

    def __call__(self, status: PodStatus) -> PodStatus:
        return replace(
            status,
            phase=intern(status.phase),
            host_ip=intern(status.host_ip),
            conditions=self._conditions(status.conditions),
            init_container_statuses=self._containers(status.init_container_statuses),
            container_statuses=self._containers(status.container_statuses),
        )


def nodes() -> Callable[[Node], Node]:
    """For the nodes of one store."""
    metadata, status = _Metadata(), _NodeStatuses()
    taints: Pool[Any] = Pool()

    def shared(node: Node) -> Node:
        spec = replace(node.spec, taints=taints(node.spec.taints))
        return Node(metadata=metadata(node.metadata), spec=spec, status=status(node.status))

    return shared


class _NodeStatuses:
    def __init__(self) -> None:
        self._conditions = _Conditions()
        self._amounts: Pool[Any] = Pool()

    def __call__(self, status: NodeStatus) -> NodeStatus:
        return replace(
            status,
            capacity=self._amounts(status.capacity),
            allocatable=self._amounts(status.allocatable),
            conditions=self._conditions(status.conditions),
        )
