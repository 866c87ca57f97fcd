"""List, then watch: the protocol that keeps a copy of a kind current, as a pure state machine.

        start ──► Listing ──page──► Listing ──last page──► Watching ──event──► Watching
                     ▲                                        │
                     └──────── 410 Gone: list anew ───────────┘
    ended or failed: rest a while if need be, then ask again for the same page, or for what
    happened after the last version heard of. Only the server can demand a new list.

Each function takes a state and what happened, and returns a Step: the next state, what to do to
the store, and what to ask for next (nothing: read on). `reflector.py` drives it.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from windlass.kube import requests
from windlass.kube.errors import Gone, KubeError, Refused, Unavailable, error_of
from windlass.kube.kinds import Kind
from windlass.kube.meta import Object
from windlass.kube.requests import EVERYTHING, Paging, Request, Selection
from windlass.kube.wire import Added, Bookmark, Deleted, Failure, Modified, Page, WatchEvent

T = TypeVar("T", bound=Object)


def _as_read(item: T) -> T:
    return item


@dataclass(frozen=True, eq=False, slots=True)
class Watched(Generic[T]):
    """One kind to keep a copy of: which objects, how much of each, found by which indexes."""

    kind: Kind
    struct: type[T]
    selection: Selection = EVERYTHING
    indexes: Mapping[str, Callable[[T], Iterable[Hashable]]] = field(default_factory=dict)
    kept: Callable[[T], T] = _as_read
    """From an object as it was read to an equal one that is stored; see `sharing.py`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """Sizes of pages; times in seconds."""

    page: int = 500
    shortest_watch: int = 300
    longest_watch: int = 600
    first_rest: float = 0.5
    longest_rest: float = 30.0


# --- states --------------------------------------------------------------------------------


class Listing(Struct, Generic[T], frozen=True):
    """Pages so far, and which is next."""

    limit: int
    pages: tuple[list[T], ...] = ()
    version: str = ""
    token: str = ""
    tries: int = 0


class Watching(Struct, frozen=True):
    """Everything up to `version` is known; `heard`: this connection has brought something."""

    version: str
    tries: int = 0
    heard: bool = False


# --- what comes out ------------------------------------------------------------------------


class Replaced(Struct, Generic[T], frozen=True):
    """These and no others exist."""

    items: list[T]


class Put(Struct, Generic[T], frozen=True, gc=False):
    item: T


class Removed(Struct, Generic[T], frozen=True, gc=False):
    item: T


class Ask(Struct, Generic[T], frozen=True):
    request: Request[Page[T]]


class Follow(Struct, Generic[T], frozen=True):
    request: Request[WatchEvent[T]]


class Rest(Struct, frozen=True):
    seconds: float


class Step(NamedTuple, Generic[T]):
    state: Listing[T] | Watching
    do: Ask[T] | Follow[T] | Rest | None = None
    change: Replaced[T] | Put[T] | Removed[T] | None = None
    trouble: KubeError | None = None


# --- the protocol --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListWatch(Generic[T]):
    watched: Watched[T]
    chance: Callable[[], float]  # between 0 and 1
    pace: Pace = Pace()

    def start(self) -> Step[T]:
        return self._again(Listing(self.pace.page))

    def listed(self, state: Listing[T], page: Page[T]) -> Step[T]:
        """A page came."""
        pages = (*state.pages, [self.watched.kept(item) for item in page.items or ()])
        version = state.version or page.metadata.resource_version
        if page.metadata.continue_:
            token = page.metadata.continue_
            return self._again(Listing(state.limit, pages, version, token, state.tries))
        everything = [item for items in pages for item in items]
        step = self._again(Watching(version, state.tries))
        return step._replace(change=Replaced(everything))

    def heard(self, state: Watching, event: WatchEvent[T]) -> Step[T]:
        """The watch brought something."""
        if isinstance(event, Failure):
            return self.failed(state, error_of(event.object))
        now = Watching(event.object.metadata.resource_version, 0, heard=True)
        if isinstance(event, Modified | Added):
            return Step(now, None, Put(self.watched.kept(event.object)))
        if isinstance(event, Deleted):
            return Step(now, None, Removed(event.object))
        assert isinstance(event, Bookmark)
        return Step(now)

    def ended(self, state: Watching) -> Step[T]:
        """The server closed the watch in good order; one that brought nothing is suspicious."""
        if state.heard:
            return self._again(Watching(state.version))
        return self._later(state)

    def failed(self, state: Listing[T] | Watching, error: KubeError) -> Step[T]:
        """A request was refused or a connection broke."""
        if isinstance(error, Gone):
            return self._anew(state)._replace(trouble=error)
        after = error.retry_after if isinstance(error, Refused | Unavailable) else None
        return self._later(state, after or 0.0)._replace(trouble=error)

    def rested(self, state: Listing[T] | Watching) -> Step[T]:
        """The rest is over."""
        return self._again(state)

    def _anew(self, state: Listing[T] | Watching) -> Step[T]:
        """List from the start: at once the first time, with rests when it happens again."""
        # A continue token that expires once will again: the next list comes in one piece.
        whole = isinstance(state, Listing) and state.token
        fresh: Listing[T] = Listing(0 if whole else self.pace.page, tries=state.tries)
        if state.tries:
            return self._later(fresh)
        return self._again(replace(fresh, tries=1))

    def _later(self, state: Listing[T] | Watching, after: float = 0.0) -> Step[T]:
        """Rest between half and the whole of a span that doubles, or as long as the server said."""
        span = min(self.pace.first_rest * 2.0 ** min(state.tries, 30), self.pace.longest_rest)
        rest = max(span * (0.5 + self.chance() / 2), after)
        return Step(replace(state, tries=state.tries + 1), Rest(rest))

    def _again(self, state: Listing[T] | Watching) -> Step[T]:
        """Ask for what the state lacks."""
        if isinstance(state, Watching):
            return Step(replace(state, heard=False), Follow(self._watch(state.version)))
        return Step(state, Ask(self._page(state)))

    def _page(self, state: Listing[T]) -> Request[Page[T]]:
        kind, struct, selection = self.watched.kind, self.watched.struct, self.watched.selection
        return requests.list_page(kind, struct, selection, Paging(state.limit, state.token))

    def _watch(self, version: str) -> Request[WatchEvent[T]]:
        kind, struct, selection = self.watched.kind, self.watched.struct, self.watched.selection
        spread = self.pace.longest_watch - self.pace.shortest_watch
        seconds = self.pace.shortest_watch + int(spread * self.chance())
        return requests.watch(kind, struct, selection, version, seconds)
