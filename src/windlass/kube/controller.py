"""Workers over a queue: key in, one pass, and what the pass says about the next one.

A pass that raises is retried with backoff and never harms its worker. The log line and the metrics
of a pass are written here, once, so that a reconcile needs neither.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from windlass.kube.queue import Closed, Queue

K = TypeVar("K", bound=Hashable)

log = logging.getLogger(__name__)


class Terminal(Exception):
    """The pass cannot succeed until somebody changes something: it is told, not retried."""


@dataclass(frozen=True, slots=True)
class Requeue:
    """When a pass wants its key again if nothing else asks for it, and how long the key rests
    whoever asks: many wakes of a dear pass become one."""

    after: float | None = None
    rest: float = 0.0

    @classmethod
    def never(cls) -> "Requeue":
        return cls()

    @classmethod
    def in_seconds(cls, seconds: float) -> "Requeue":
        return cls(seconds)

    def soonest(self, other: "Requeue") -> "Requeue":
        """The earlier of two wishes."""
        wishes = [wish.after for wish in (self, other) if wish.after is not None]
        return Requeue(min(wishes, default=None), max(self.rest, other.rest))


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How a controller works; a pass may take `limit` seconds and is told as slow before that."""

    workers: int = 4
    slow: float = 5.0
    limit: float = 120.0


class Meter(Protocol):
    """What a controller tells about its passes."""

    def passed(self, outcome: str, seconds: float) -> None: ...
    def slow(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Stuck(Generic[K]):
    """A pass that did not even end when it was cancelled at its limit."""

    key: K
    seconds: float


class Controller(Generic[K]):
    """One reconcile function, its queue and its workers."""

    def __init__(
        self,
        name: str,
        reconcile: Callable[[K], Awaitable[Requeue]],
        queue: Queue[K],
        *,
        pace: Pace | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.name = name
        self._reconcile = reconcile
        self._queue = queue
        self._clock = queue.clock
        self._pace = pace or Pace()
        self._meter = meter
        self._started: dict[K, float] = {}

    async def run(self) -> None:
        """Work until the queue is closed and empty."""
        async with asyncio.TaskGroup() as tasks:
            for number in range(self._pace.workers):
                tasks.create_task(self._work(), name=f"{self.name}/{number}")

    def stuck(self, grace: float = 30.0) -> Stuck[K] | None:
        """The oldest pass that runs on although its limit and a grace are over."""
        now = self._clock()
        ages = ((now - started, key) for key, started in self._started.items())
        over = [Stuck(key, age) for age, key in ages if age > self._pace.limit + grace]
        return max(over, key=lambda found: found.seconds, default=None)

    async def _work(self) -> None:
        while True:
            try:
                key = await self._queue.take()
            except Closed:
                return
            rest = 0.0
            try:
                rest = await self._pass(key)
            finally:
                self._queue.done(key, rest)

    async def _pass(self, key: K) -> float:
        """Answers how long the key has to rest."""
        started = self._started[key] = self._clock()
        slow = asyncio.get_running_loop().call_later(self._pace.slow, self._tell_slow, key)
        error: Exception | None = None
        requeue = Requeue.never()
        try:
            async with asyncio.timeout(self._pace.limit):
                requeue = await self._reconcile(key)
        except Exception as caught:  # whatever it is, the worker lives
            error = caught
        except asyncio.CancelledError:
            if _told_to_stop():
                raise
            error = RuntimeError("the pass awaited something that was cancelled")
        finally:
            slow.cancel()
            del self._started[key]
        self._conclude(key, self._clock() - started, requeue, error)
        return requeue.rest

    def _conclude(self, key: K, seconds: float, requeue: Requeue, error: Exception | None) -> None:
        wait = requeue.after
        if error is None:
            outcome = "done" if wait is None else "again"
            self._queue.forget(key)
            if wait is not None:
                self._queue.add_after(key, wait)
        elif isinstance(error, Terminal):
            outcome = "terminal"
            self._queue.forget(key)
        else:
            outcome = "failed"
            wait = self._queue.retry(key)
        if self._meter is not None:
            self._meter.passed(outcome, seconds)
        self._tell(key, outcome, seconds, wait, error)

    def _tell(
        self, key: K, outcome: str, seconds: float, wait: float | None, error: Exception | None
    ) -> None:
        fields: dict[str, object] = {
            "controller": self.name,
            "key": str(key),
            "outcome": outcome,
            "seconds": round(seconds, 4),
        }
        if wait is not None:
            fields["again_in"] = round(wait, 3)
        if error is not None:
            fields["error"] = f"{type(error).__name__}: {error}"
        level = logging.INFO if error is None else logging.ERROR
        # A terminal error is a sentence for its reader; the others are ours to trace.
        trace = error if outcome == "failed" else None
        log.log(level, "pass %s", spelled(fields), extra={"fields": fields}, exc_info=trace)

    def _tell_slow(self, key: K) -> None:
        if self._meter is not None:
            self._meter.slow()
        fields: dict[str, object] = {
            "controller": self.name,
            "key": str(key),
            "seconds": self._pace.slow,
        }
        log.warning("slow pass %s", spelled(fields), extra={"fields": fields})


def _told_to_stop() -> bool:
    """Whether this task is cancelled, and not only something it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def spelled(fields: dict[str, object]) -> str:
    """Fields as one line, for readers without a structured formatter."""
    return " ".join(f"{name}={value!r}" for name, value in fields.items())
