"""Events (events.k8s.io/v1) about what happens to objects: few, counted, and never in the way.

`Planner` decides what to tell the API server, as plain state that is given the time: what repeats
becomes a series whose count is patched, much alike is told as one, and each object has a bucket of
tokens. `Recorder` takes happenings without waiting and sends the plan from a task of its own; what
finds no room is dropped and counted.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from windlass.kube.objects import micro_time

log = logging.getLogger(__name__)

NOTE_BYTES = 1024
NAME_LENGTH = 253


@dataclass(frozen=True, slots=True)
class Regarding:
    """The object that something happens to."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""

    def reference(self) -> dict[str, str]:
        said = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
        }
        return {field: value for field, value in said.items() if value}


@dataclass(frozen=True, slots=True)
class Happening:
    """What happened: a reason in one word, what was done about it in one, and a sentence."""

    regarding: Regarding
    reason: str
    action: str
    note: str
    warning: bool = False
    related: Regarding | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much is told. Times are in seconds."""

    burst: int = 25
    refill: float = 60.0
    refresh: float = 60.0
    quiet: float = 360.0
    alike: int = 10
    series: int = 4096


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who tells: a qualified name for the program, and the pod it runs in."""

    controller: str
    instance: str


@dataclass(frozen=True, slots=True)
class Create:
    """Tell of something new."""

    namespace: str
    name: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Patch:
    """Tell that it happened again: a merge patch of the event."""

    namespace: str
    name: str
    body: dict[str, Any]


Telling = Create | Patch


@dataclass(slots=True)
class _Series:
    namespace: str
    name: str
    count: int
    last: datetime
    told: int
    told_at: datetime


@dataclass(slots=True)
class _Bucket:
    tokens: float
    since: datetime


@dataclass(slots=True)
class _Alike:
    last: datetime
    notes: set[str] = field(default_factory=set)


class Planner:
    """What to tell; remembers what it told for as long as it may happen again."""

    def __init__(self, reporter: Reporter, limits: Limits | None = None) -> None:
        self._reporter = reporter
        self._limits = limits or Limits()
        self._series: dict[Happening, _Series] = {}
        self._buckets: dict[Regarding, _Bucket] = {}
        self._alike: dict[Happening, _Alike] = {}

    def plan(self, happening: Happening, now: datetime) -> Telling | None:
        """What to tell about this; None where it is only counted, or is too much."""
        happening = self._joined(happening, now)
        series = self._series.get(happening)
        if series is not None:
            series.count += 1
            series.last = now
            return self._refresh(happening, series, now) if self._fresh(series, now) else None
        if len(self._series) >= self._limits.series or not self._token(happening.regarding, now):
            return None
        return self._begin(happening, now)

    def counts(self, happening: Happening) -> bool:
        """Whether this is one of a series that is being told."""
        return happening in self._series or _without_note(happening) in self._series

    def due(self, now: datetime) -> Iterator[Telling]:
        """What is to be told since time has passed; forgets what has been quiet for long."""
        for happening, series in list(self._series.items()):
            over = _seconds(series.last, now) >= self._limits.quiet
            if series.count > series.told and (over or self._fresh(series, now)):
                telling = self._refresh(happening, series, now)
                if telling is not None:
                    yield telling
            if over:
                del self._series[happening]
        self._forget_quiet(now)

    def forget(self, name: str) -> None:
        """The event is gone from the server: the next of its kind is told anew."""
        self._series = {key: kept for key, kept in self._series.items() if kept.name != name}

    def _joined(self, happening: Happening, now: datetime) -> Happening:
        """Itself, or all that differs in its sentence only where there is too much of that."""
        kind = _without_note(happening)
        alike = self._alike.setdefault(kind, _Alike(now))
        alike.last = now
        if happening.note in alike.notes or len(alike.notes) < self._limits.alike:
            alike.notes.add(happening.note)
            return happening
        return kind

    def _begin(self, happening: Happening, now: datetime) -> Create:
        regarding = happening.regarding
        stamp = f".{int(now.timestamp() * 1e6):x}{len(self._series):x}"
        name = regarding.name[: NAME_LENGTH - len(stamp)] + stamp
        namespace = regarding.namespace or "default"
        self._series[happening] = _Series(namespace, name, 1, now, 1, now)
        body: dict[str, Any] = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"namespace": namespace, "name": name},
            "eventTime": micro_time(now),
            "reportingController": self._reporter.controller,
            "reportingInstance": self._reporter.instance,
            "type": "Warning" if happening.warning else "Normal",
            "reason": happening.reason,
            "action": happening.action,
            "note": _shortened(happening.note or f"{happening.reason}: many, with differing notes"),
            "regarding": regarding.reference(),
        }
        if happening.related is not None:
            body["related"] = happening.related.reference()
        return Create(namespace, name, body)

    def _fresh(self, series: _Series, now: datetime) -> bool:
        """The first repetition is told at once, later ones now and then."""
        return series.told == 1 or _seconds(series.told_at, now) >= self._limits.refresh

    def _refresh(self, happening: Happening, series: _Series, now: datetime) -> Patch | None:
        if not self._token(happening.regarding, now):
            return None
        series.told, series.told_at = series.count, now
        told = {"count": series.count, "lastObservedTime": micro_time(series.last)}
        return Patch(series.namespace, series.name, {"series": told})

    def _token(self, regarding: Regarding, now: datetime) -> bool:
        limits = self._limits
        bucket = self._buckets.setdefault(regarding, _Bucket(limits.burst, now))
        gained = _seconds(bucket.since, now) / limits.refill
        bucket.tokens = min(float(limits.burst), bucket.tokens + gained)
        bucket.since = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _forget_quiet(self, now: datetime) -> None:
        full = self._limits.burst * self._limits.refill
        self._buckets = {
            regarding: bucket
            for regarding, bucket in self._buckets.items()
            if _seconds(bucket.since, now) < full
        }
        self._alike = {
            kind: alike
            for kind, alike in self._alike.items()
            if _seconds(alike.last, now) < self._limits.quiet
        }


def _without_note(happening: Happening) -> Happening:
    return replace(happening, note="")


def _seconds(since: datetime, now: datetime) -> float:
    return max(0.0, (now - since).total_seconds())  # the wall clock may be set back


def _shortened(note: str) -> str:
    data = note.encode()
    if len(data) <= NOTE_BYTES:
        return note
    return data[: NOTE_BYTES - 3].decode(errors="ignore") + "…"


# --- Sending ---------------------------------------------------------------------------------


class EventGone(Exception):
    """The event to be patched is no more."""


class Sink(Protocol):
    """Where events go."""

    async def create(self, event: Create) -> None: ...

    async def patch(self, event: Patch) -> None:
        """Raises EventGone where the event is no more."""


class Recorder:
    """Takes what happens, from anywhere, at once."""

    def __init__(
        self,
        planner: Planner,
        sink: Sink,
        wall_clock: Callable[[], datetime],
        count: Callable[[str], None] = lambda _: None,
        *,
        room: int = 1000,
    ) -> None:
        self._planner = planner
        self._sink = sink
        self._wall_clock = wall_clock
        self._count = count
        self._waiting: asyncio.Queue[Telling] = asyncio.Queue(room)

    def record(self, happening: Happening) -> None:
        """Note what happened; never waits, never fails. What is too much is counted as dropped."""
        telling = self._planner.plan(happening, self._wall_clock())
        if telling is not None:
            self._enqueue(telling)
        elif self._planner.counts(happening):
            self._count("counted")
        else:
            self._count("dropped")

    async def run(self, started: Callable[[], None], every: float = 15.0) -> None:
        """Send, until cancelled."""
        started()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send_all(), name="send events")
            tasks.create_task(self._tick(every), name="refresh events")

    async def flush(self) -> None:
        """Return once all that was recorded has been sent or given up; `run` has to be running."""
        await self._waiting.join()

    async def _tick(self, every: float) -> None:
        while True:
            await asyncio.sleep(every)
            for telling in self._planner.due(self._wall_clock()):
                self._enqueue(telling)

    def _enqueue(self, telling: Telling) -> None:
        try:
            self._waiting.put_nowait(telling)
        except asyncio.QueueFull:
            self._count("dropped")

    async def _send_all(self) -> None:
        while True:
            telling = await self._waiting.get()
            try:
                await self._sent(telling)
            finally:
                self._waiting.task_done()

    async def _sent(self, telling: Telling) -> None:
        try:
            await self._send(telling)
        except EventGone:
            self._planner.forget(telling.name)
            self._count("gone")
        except Exception as error:  # an event is never worth a crash
            log.warning("event not sent: %s: %s", type(error).__name__, error)
            self._planner.forget(telling.name)
            self._count("failed")
        else:
            self._count("sent")

    async def _send(self, telling: Telling) -> None:
        async with asyncio.timeout(10):
            if isinstance(telling, Create):
                await self._sink.create(telling)
            else:
                await self._sink.patch(telling)
