"""How the fake API server is read: pages of a list, events of a watch. Bytes come out."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from windlass.kube.errors import Unreachable, error_of
from windlass.kube.kinds import Kind
from windlass.testing import fake_refusals as refusals
from windlass.testing import fake_selectors as selectors
from windlass.testing.fake_objects import Change, Json, Objects, Stored
from windlass.testing.fake_selectors import Test
from windlass.values.key import Key

BOOKMARKS_EVERY: Final = 60.0
_METADATA: Final = "as=PartialObjectMetadata"


@dataclass(frozen=True, slots=True)
class View:
    """Which objects of a kind a request sees, and how much of each."""

    kind: Kind
    namespace: str
    chosen: Test
    metadata_only: bool

    @classmethod
    def of(cls, kind: Kind, namespace: str, query: Mapping[str, str], accept: str) -> "View":
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        chosen = selectors.chosen(kind, labels, fields)
        return cls(kind, namespace, chosen, _METADATA in accept)

    def sees(self, stored: Stored) -> bool:
        namespace = stored.body["metadata"].get("namespace", "")
        return (not self.namespace or namespace == self.namespace) and self.chosen(stored.body)

    def shown(self, stored: Stored) -> bytes:
        if not self.metadata_only:
            return stored.raw
        part = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        return msgspec.json.encode({**part, "metadata": stored.body["metadata"]})


# --- lists ---------------------------------------------------------------------------------


def page(objects: Objects, view: View, query: Mapping[str, str]) -> bytes:
    """One page; a continued list shows the state of its first page."""
    version, after = _start(objects, query)
    found = [
        (key, stored)
        for key, stored in objects.as_of(view.kind, version).items()
        if view.sees(stored) and (after is None or key > after)
    ]
    limit = int(query.get("limit", "0")) or len(found)
    metadata: Json = {"resourceVersion": str(version)}
    if len(found) > limit:
        metadata["continue"] = _token(version, found[limit - 1][0])
        metadata["remainingItemCount"] = len(found) - limit
    items = b",".join(view.shown(stored) for _, stored in found[:limit])
    head = {"kind": f"{view.kind.kind}List", "apiVersion": view.kind.api_version}
    start = msgspec.json.encode({**head, "metadata": metadata})
    return start[:-1] + b',"items":[' + items + b"]}"


def _start(objects: Objects, query: Mapping[str, str]) -> tuple[int, Key | None]:
    if token := query.get("continue"):
        version, namespace, name = msgspec.json.decode(base64.urlsafe_b64decode(token))
        return _known(objects, version), Key(namespace, name)
    asked = int(query.get("resourceVersion", "0"))
    if asked > objects.version:
        raise refusals.too_new(asked)
    exact = query.get("resourceVersionMatch") == "Exact"
    return (_known(objects, asked) if exact else objects.version), None


def _known(objects: Objects, version: int) -> int:
    if version < objects.compacted:
        raise error_of(refusals.expired(version))
    return version


def _token(version: int, key: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode((version, *key))).decode()


# --- watches -------------------------------------------------------------------------------


class Watch:
    """One watch: what it has told so far, and when it ends."""

    def __init__(self, objects: Objects, view: View, query: Mapping[str, str]) -> None:
        self._objects = objects
        self._view = view
        self._clock = asyncio.get_running_loop().time
        self._ends = self._clock() + float(query.get("timeoutSeconds", "1800"))
        self._spoke = self._clock()
        self._told = int(query.get("resourceVersion", "0"))
        self._cuts = objects.cuts

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Event after event, until its time is over."""
        if 0 < self._told < self._objects.compacted:
            yield _event("ERROR", msgspec.json.encode(refusals.expired(self._told)))
            return
        for line in () if self._told else self._state():
            yield line
        while self._clock() < self._ends:
            for line in self._news():
                yield line
            await self._wait()
        yield self._bookmark()

    def _state(self) -> list[bytes]:
        """Asked without a version, a watch begins with all there is."""
        self._told = self._objects.version
        table = self._objects.as_of(self._view.kind, self._told)
        seen = [stored for stored in table.values() if self._view.sees(stored)]
        return [_event("ADDED", self._view.shown(stored)) for stored in seen]

    def _news(self) -> list[bytes]:
        changes = self._objects.since(self._view.kind, self._told)
        self._told = self._objects.version
        lines = [line for change in changes for line in _told(self._view, change)]
        if not lines and self._clock() >= self._spoke + BOOKMARKS_EVERY:
            lines = [self._bookmark()]
        if lines:
            self._spoke = self._clock()
        return lines

    async def _wait(self) -> None:
        kind = self._view.kind
        if not self._objects.since(kind, self._told) and self._cuts == self._objects.cuts:
            until = min(self._ends, self._spoke + BOOKMARKS_EVERY)
            await self._objects.changed(kind, until - self._clock())
        if self._cuts != self._objects.cuts:
            raise Unreachable(f"watch {self._view.kind.plural}: the connection was cut")

    def _bookmark(self) -> bytes:
        kind = self._view.kind
        metadata = {"resourceVersion": str(self._told), "creationTimestamp": None}
        husk: Json = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        return _event("BOOKMARK", msgspec.json.encode(husk))


def _told(view: View, change: Change) -> Iterator[bytes]:
    """A change as this view sees it: what leaves a selection is gone, what enters it is new."""
    before = change.old is not None and view.sees(change.old)
    after = not change.removed and view.sees(change.new)
    if after:
        yield _event("MODIFIED" if before else "ADDED", view.shown(change.new))
    elif change.old is not None and before:
        yield _event("DELETED", view.shown(Stored.of(change.old.body, change.version)))


def _event(sort: str, raw: bytes) -> bytes:
    return b'{"type":"%s","object":%s}' % (sort.encode(), raw)
