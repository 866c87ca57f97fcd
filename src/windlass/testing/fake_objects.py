"""What the fake API server keeps: the objects of every kind, and what happened to them.

Bodies are never changed in place: each write puts a new one beside the old, as etcd does. So the
state of any version since the last compaction can be told from the history.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from windlass.kube.kinds import Kind
from windlass.testing import fake_refusals as refusals
from windlass.values.key import Key

Json = dict[str, Any]
SERVER_OWNED: Final = frozenset(
    {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
    }
)
"""What of the metadata only the server writes."""
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


class Stored(NamedTuple):
    """One object at one version, and the same as it goes over the wire."""

    body: Json
    raw: bytes

    @classmethod
    def of(cls, body: Json, version: int) -> "Stored":
        """The object, stamped with a version."""
        stamped = {**body, "metadata": {**body["metadata"], "resourceVersion": str(version)}}
        return cls(stamped, msgspec.json.encode(stamped))


class Change(NamedTuple):
    """What one object was and became at a version; a removed one is told as it last was."""

    version: int
    key: Key
    old: Stored | None
    new: Stored
    removed: bool = False


Table = dict[Key, Stored]


class Objects:
    def __init__(self, now: Callable[[], datetime]) -> None:
        self.version = 1
        self.compacted = 0
        self.cuts = 0
        self._now = now
        self._made = 0
        self._addresses = 0
        self._tables: dict[Kind, Table] = defaultdict(dict)
        self._history: dict[Kind, list[Change]] = defaultdict(list)
        self._dependents: dict[str, dict[tuple[Kind, Key], None]] = defaultdict(dict)
        self._waiting: dict[Kind, list[asyncio.Future[None]]] = defaultdict(list)

    # --- reading ---------------------------------------------------------------------------

    def time(self, after: float = 0) -> str:
        """Now, or later, as Kubernetes writes it."""
        moment = self._now().astimezone(UTC) + timedelta(seconds=after)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def find(self, kind: Kind, key: Key) -> Json | None:
        stored = self._tables[kind].get(key)
        return None if stored is None else stored.body

    def get(self, kind: Kind, key: Key) -> Json:
        return self.stored(kind, key).body

    def stored(self, kind: Kind, key: Key) -> Stored:
        stored = self._tables[kind].get(key)
        if stored is None:
            raise refusals.not_found(kind, key.name)
        return stored

    def kinds(self) -> list[Kind]:
        return [kind for kind, table in self._tables.items() if table]

    def all(self, kind: Kind) -> list[tuple[Key, Json]]:
        return [(key, stored.body) for key, stored in sorted(self._tables[kind].items())]

    def as_of(self, kind: Kind, version: int) -> Table:
        """All of a kind as they were at a version."""
        table = dict(self._tables[kind])
        for change in reversed(self.since(kind, version)):
            if change.old is None:
                table.pop(change.key, None)
            else:
                table[change.key] = change.old
        return dict(sorted(table.items()))

    def since(self, kind: Kind, version: int) -> list[Change]:
        """What happened to a kind after a version, the oldest first."""
        history = self._history[kind]
        first = len(history)
        while first and history[first - 1].version > version:
            first -= 1
        return history[first:]

    def dependents(self, uid: str) -> list[tuple[Kind, Key]]:
        """The objects that name this one as an owner."""
        return list(self._dependents.get(uid, ()))

    # --- writing ---------------------------------------------------------------------------

    def insert(self, kind: Kind, key: Key, body: Json) -> Json:
        if key in self._tables[kind]:
            raise refusals.already_exists(kind, key.name)
        self._made += 1
        born = {"uid": f"{self._made:08x}-0000-4000-8000-{self._made:012x}"}
        metadata = {**body["metadata"], **born, "creationTimestamp": self.time()}
        return self._store(kind, key, {**body, "metadata": metadata})

    def write(self, kind: Kind, key: Key, body: Json) -> Json:
        """Put a body in place of another; the same one again is no change."""
        live = self.get(kind, key)
        return live if body == live else self._store(kind, key, body)

    def remove(self, kind: Kind, key: Key) -> Json:
        """Take an object out at once, whatever hangs on it."""
        old = self._tables[kind].pop(key)
        self.version += 1
        self._link(kind, key, old.body, {})
        last = Stored.of(old.body, self.version)
        self._tell(kind, Change(self.version, key, old, last, removed=True))
        return last.body

    def fresh_name(self, base: str) -> str:
        """A name that begins like this and ends in five letters, never the same twice."""
        self._made += 1
        number, ending = self._made * 7_654_321 % len(_LETTERS) ** 5, ""
        for _ in range(5):
            number, letter = divmod(number, len(_LETTERS))
            ending += _LETTERS[letter]
        return base + ending

    def fresh_address(self) -> str:
        """An address for a Service, never the same twice."""
        self._addresses += 1
        return f"10.96.{self._addresses // 250}.{self._addresses % 250 + 1}"

    def _store(self, kind: Kind, key: Key, body: Json) -> Json:
        self.version += 1
        old, new = self._tables[kind].get(key), Stored.of(body, self.version)
        self._tables[kind][key] = new
        self._link(kind, key, old.body if old else {}, new.body)
        self._tell(kind, Change(self.version, key, old, new))
        return new.body

    def _link(self, kind: Kind, key: Key, old: Json, new: Json) -> None:
        for owner in owners(old):
            self._dependents[owner["uid"]].pop((kind, key), None)
        for owner in owners(new):
            self._dependents[owner["uid"]][(kind, key)] = None

    # --- history ---------------------------------------------------------------------------

    def compact(self) -> None:
        """Forget what was before; who has listened until now is not disturbed."""
        for kind, changes in self._history.items():
            self._history[kind] = [each for each in changes if each.version > self.compacted]
        self.compacted = self.version

    def _tell(self, kind: Kind, change: Change) -> None:
        self._history[kind].append(change)
        self._wake(kind)

    def cut(self) -> None:
        """Break every watch, as a lost connection does."""
        self.cuts += 1
        for kind in list(self._waiting):
            self._wake(kind)

    def _wake(self, kind: Kind) -> None:
        """In the order in which they began to wait, so that a run is the same each time."""
        for waiter in self._waiting.pop(kind, ()):
            if not waiter.done():
                waiter.set_result(None)

    async def changed(self, kind: Kind, within: float) -> None:
        """Wait for the next change of a kind, or so many seconds."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[kind].append(waiter)
        try:
            await asyncio.wait([waiter], timeout=within)
        finally:
            if waiter in self._waiting[kind]:
                self._waiting[kind].remove(waiter)


def owners(body: Json) -> Iterator[Json]:
    return iter((body.get("metadata") or {}).get("ownerReferences") or ())
