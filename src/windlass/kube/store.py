"""The local copy of one kind: found by key and by named indexes, references given out.

The objects are frozen, so a reader may keep what it was given. Each update costs what it changes;
subscribers hear (old, new) after the store and all its indexes show the new state.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from windlass.kube.meta import Object
from windlass.values.key import Key

T = TypeVar("T", bound=Object)

IndexFunction = Callable[[T], Iterable[Hashable]]


class Change(NamedTuple, Generic[T]):
    """What one object was and is; None when it was not there, or is there no longer."""

    old: T | None
    new: T | None


Subscriber = Callable[[T | None, T | None], None]


class Store(Generic[T]):
    def __init__(self, indexes: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._objects: dict[Key, T] = {}
        self._indexes = {name: _Index(values) for name, values in (indexes or {}).items()}
        self._subscribers: list[Subscriber[T]] = []

    # --- reading ---------------------------------------------------------------------------

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def by(self, index: str, value: Hashable) -> list[T]:
        """The objects that an index files under a value."""
        return list(self._indexes[index].filed.get(value, {}).values())

    def values(self, index: str) -> list[Hashable]:
        """All values that an index knows."""
        return list(self._indexes[index].filed)

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._objects.values()))

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        self._subscribers.append(subscriber)

    # --- writing ---------------------------------------------------------------------------

    def put(self, item: T) -> Change[T] | None:
        """Take an object as it is now; None when that was known."""
        key = item.metadata.key
        old = self._objects.get(key)
        if old is not None and _same(old, item):
            return None
        self._objects[key] = item
        return self._changed(key, Change(old, item))

    def remove(self, key: Key) -> Change[T] | None:
        old = self._objects.pop(key, None)
        return None if old is None else self._changed(key, Change(old, None))

    def replace(self, items: Iterable[T]) -> list[Change[T]]:
        """Take these and no others, and tell only of what differs."""
        listed = {item.metadata.key: item for item in items}
        lost = [key for key in self._objects if key not in listed]
        changes = [self.remove(key) for key in lost]
        changes += [self.put(item) for item in listed.values()]
        return [change for change in changes if change is not None]

    def _changed(self, key: Key, change: Change[T]) -> Change[T]:
        for index in self._indexes.values():
            index.refile(key, change)
        for subscriber in self._subscribers:
            subscriber(change.old, change.new)
        return change


def _same(old: Object, new: Object) -> bool:
    a, b = old.metadata, new.metadata
    return a.resource_version == b.resource_version and a.uid == b.uid


class _Index(Generic[T]):
    def __init__(self, values: IndexFunction[T]) -> None:
        self._values = values
        self.filed: dict[Hashable, dict[Key, T]] = {}

    def refile(self, key: Key, change: Change[T]) -> None:
        new = () if change.new is None else tuple(self._values(change.new))
        if change.old is not None:
            for value in self._values(change.old):
                if value not in new:
                    self._unfile(value, key)
        if change.new is not None:
            for value in new:
                self.filed.setdefault(value, {})[key] = change.new

    def _unfile(self, value: Hashable, key: Key) -> None:
        entries = self.filed.get(value, {})
        entries.pop(key, None)
        if not entries:
            self.filed.pop(value, None)
