"""The work queue between the watches and the workers: it carries keys, never events.

`Schedule` is the whole behaviour as plain state over a given time; `Queue` lets workers wait for
it. The semantics are client-go's: a key waits once however often it is added, one worker has it at
a time, and a key added while it is worked on runs again afterwards.
"""

import asyncio
import contextlib
import heapq
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from windlass.values.backoff import delay
from windlass.values.clock import Seconds

K = TypeVar("K", bound=Hashable)
Monotonic = Callable[[], float]


class Closed(Exception):
    """The queue is shut down and empty: the worker goes home."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Backoff:
    """How long a key that fails waits: doubled from `first` up to `most`."""

    first: float = 0.005
    most: float = 120.0

    def after(self, failures: int) -> float:
        """The wait after so many failures in a row (the first failure counts 1)."""
        return delay(failures, first=Seconds(self.first), cap=Seconds(self.most))


class Meter(Protocol):
    """What a queue tells about itself."""

    def depth(self, waiting: int) -> None: ...
    def waited(self, seconds: float) -> None: ...
    def retried(self) -> None: ...


class Unmetered:
    """Tells nobody."""

    def depth(self, waiting: int) -> None: ...
    def waited(self, seconds: float) -> None: ...
    def retried(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a key stands: its priority, its turn among equals, and since when it waits."""

    priority: int
    turn: int
    since: float


@dataclass(frozen=True, slots=True)
class _Later:
    due: float
    priority: int


class Schedule(Generic[K]):
    """Which key is next; a plain value that is told the time.

    A key is in at most one of `ready` and `later`, and may be `active` besides: a key added while
    active is remembered in `again` and becomes ready when it is done.
    """

    def __init__(self) -> None:
        self._turns = 0
        self._ready: dict[K, _Place] = {}
        self._again: dict[K, int] = {}
        self._later: dict[K, _Later] = {}
        self._active: set[K] = set()
        # Heaps may hold outdated entries; the dictionaries above say which are true.
        self._order: list[tuple[int, int, K]] = []
        self._dues: list[tuple[float, int, K]] = []

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def active(self) -> frozenset[K]:
        return frozenset(self._active)

    @property
    def unfinished(self) -> frozenset[K]:
        """What a drain waits for: ready, active or to be run again; delayed keys are not."""
        return frozenset(self._ready) | self._active | frozenset(self._again)

    def add(self, key: K, now: float, priority: int = 0) -> None:
        """Make the key ready; an addition that was planned for later is now fulfilled."""
        later = self._later.pop(key, None)
        if later is not None:
            priority = max(priority, later.priority)
        if key in self._active:
            self._again[key] = max(priority, self._again.get(key, priority))
        else:
            self._enqueue(key, now, priority)

    def add_later(self, key: K, due: float, priority: int = 0) -> None:
        """Make the key ready at `due`; the earliest time and the highest priority win."""
        if key in self._ready or key in self._again:
            return
        known = self._later.get(key)
        if known is not None:
            due, priority = min(due, known.due), max(priority, known.priority)
        self._later[key] = _Later(due, priority)
        heapq.heappush(self._dues, (due, self._next_turn(), key))
        if len(self._dues) > 2 * len(self._later) + 64:
            self._sweep()

    def ripen(self, now: float) -> None:
        """Make ready what is due."""
        while self._dues and self._dues[0][0] <= now:
            due, _, key = heapq.heappop(self._dues)
            later = self._later.get(key)
            if later is not None and later.due == due:
                self.add(key, now, later.priority)

    def next_due(self) -> float | None:
        while self._dues:
            due, _, key = self._dues[0]
            later = self._later.get(key)
            if later is not None and later.due == due:
                return due
            heapq.heappop(self._dues)
        return None

    def take(self) -> tuple[K, float] | None:
        """The next key, now active, and since when it waited."""
        while self._order:
            priority, turn, key = heapq.heappop(self._order)
            place = self._ready.get(key)
            if place is not None and (-place.priority, place.turn) == (priority, turn):
                del self._ready[key]
                self._active.add(key)
                return key, place.since
        return None

    def done(self, key: K, now: float) -> None:
        """The worker has finished with the key."""
        self._active.discard(key)
        priority = self._again.pop(key, None)
        if priority is not None:
            self._enqueue(key, now, priority)

    def forget_later(self) -> None:
        """Drop what is not yet due."""
        self._later.clear()
        self._dues.clear()

    def _enqueue(self, key: K, now: float, priority: int) -> None:
        known = self._ready.get(key)
        if known is None:
            place = _Place(priority, self._next_turn(), now)
        elif priority > known.priority:
            place = _Place(priority, known.turn, known.since)
        else:
            return
        self._ready[key] = place
        heapq.heappush(self._order, (-place.priority, place.turn, key))

    def _sweep(self) -> None:
        """Drop outdated entries: distant plans made over and over must not pile up."""
        self._dues = [(later.due, self._next_turn(), key) for key, later in self._later.items()]
        heapq.heapify(self._dues)

    def _next_turn(self) -> int:
        self._turns += 1
        return self._turns


class Queue(Generic[K]):
    """A schedule that workers wait on."""

    def __init__(
        self, clock: Monotonic, *, backoff: Backoff | None = None, meter: Meter | None = None
    ) -> None:
        self.clock = clock
        self._backoff = backoff or Backoff()
        self._meter: Meter = meter or Unmetered()
        self._schedule: Schedule[K] = Schedule()
        self._failures: dict[K, int] = {}
        self._takers: deque[asyncio.Future[None]] = deque()
        self._drained = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._resting: dict[K, asyncio.TimerHandle] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._schedule)

    @property
    def active(self) -> frozenset[K]:
        return self._schedule.active

    def add(self, key: K, *, priority: int = 0) -> None:
        """Have the key worked on as soon as a worker is free."""
        if not self._closed:
            self._schedule.add(key, self.clock(), priority)
            self._changed()

    def add_after(self, key: K, seconds: float, *, priority: int = 0) -> None:
        """Have the key worked on in so many seconds, or earlier if something else asks for it."""
        if seconds <= 0:
            self.add(key, priority=priority)
        elif not self._closed:
            self._schedule.add_later(key, self.clock() + seconds, priority)
            self._set_timer()

    def retry(self, key: K, *, priority: int = 0) -> float:
        """Have a key that failed worked on after its backoff; the answer is that wait."""
        self._failures[key] = self.failures(key) + 1
        wait = self._backoff.after(self._failures[key])
        self._meter.retried()
        self.add_after(key, wait, priority=priority)
        return wait

    def forget(self, key: K) -> None:
        """The key succeeded, or is given up: its next failure is a first one."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    async def take(self) -> K:
        """The next key; the taker must call `done`. Raises Closed once there is no more."""
        while (taken := self._schedule.take()) is None:
            if self._closed:
                raise Closed
            await self._wait()
        key, since = taken
        self._meter.waited(self.clock() - since)
        self._meter.depth(len(self._schedule))
        return key

    def done(self, key: K, rest: float = 0.0) -> None:
        """The taker is free; the key is handed out again after its rest at the soonest."""
        if rest > 0 and not self._closed:
            self._resting[key] = asyncio.get_running_loop().call_later(rest, self._rested, key)
        else:
            self._rested(key)

    def _rested(self, key: K) -> None:
        timer = self._resting.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._schedule.done(key, self.clock())
        self._changed()

    def close(self) -> None:
        """Take no more keys in and drop the delayed ones; those ready are still handed out."""
        self._closed = True
        for key in tuple(self._resting):
            self._rested(key)
        self._schedule.forget_later()
        self._set_timer()
        while self._takers:
            self._wake_one()
        self._changed()

    async def drain(self, within: float) -> frozenset[K]:
        """Close, then wait until all is worked on; what is left after `within` is returned."""
        self.close()
        try:
            async with asyncio.timeout(within):
                await self._drained.wait()
        except TimeoutError:
            return self._schedule.unfinished
        return frozenset()

    async def _wait(self) -> None:
        taker = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        try:
            await taker
        except asyncio.CancelledError:
            if taker.cancelled():
                with contextlib.suppress(ValueError):  # a wake may have passed over it already
                    self._takers.remove(taker)
            else:  # woken and cancelled at once: the key is for somebody else
                self._wake_one()
            raise

    def _changed(self) -> None:
        self._meter.depth(len(self._schedule))
        if len(self._schedule):
            self._wake_one()
        if self._closed and not self._schedule.unfinished:
            self._drained.set()

    def _wake_one(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _set_timer(self) -> None:
        due = self._schedule.next_due()
        if self._timer is not None and due == self._timer_due:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer_due = due
            wait = max(0.0, due - self.clock())
            self._timer = asyncio.get_running_loop().call_later(wait, self._ripen)

    def _ripen(self) -> None:
        self._timer = None
        before = len(self._schedule)
        self._schedule.ripen(self.clock())
        for _ in range(len(self._schedule) - before):
            self._wake_one()
        self._meter.depth(len(self._schedule))
        self._set_timer()
