"""From what changed to who has to look at it: the subscribers between stores and queues."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from windlass.kube.kinds import Kind
from windlass.kube.meta import Object
from windlass.kube.queue import Queue
from windlass.kube.store import Subscriber
from windlass.values.key import Key

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Object)


def waking(queue: Queue[K], keys: Callable[[T], Iterable[K]]) -> Subscriber[T]:
    """Adds the keys of what an object was and of what it is: a lost child is its owner's matter."""

    def wake(old: T | None, new: T | None) -> None:
        for item in (old, new):
            if item is not None:
                for key in keys(item):
                    queue.add(key)

    return wake


def itself(item: Object) -> tuple[Key, ...]:
    return (item.metadata.key,)


def owner(kind: Kind) -> Callable[[Object], tuple[Key, ...]]:
    """The key of the owner that manages an object, where that is of this kind."""

    def keys(item: Object) -> tuple[Key, ...]:
        found = item.metadata.controller
        if found is None or (found.api_version, found.kind) != (kind.api_version, kind.kind):
            return ()
        return (Key(item.metadata.namespace if kind.namespaced else "", found.name),)

    return keys
