"""A copy of one Slurm's nodes, jobs, partitions and reservations, kept current by cheap calls.

    nodes, partitions, reservations   GET ?update_time=   304 while nothing changed
    jobs                              GET jobs/state      then the few that changed, one by one
    jobs that start                   GET resources       in the place of all of the job, for the
                                                          thrifty who know the rest
    a pulse                           GET ping            while nodes are not answered: elsewhere
                                                          slurmrestd takes 10 s to notice that
                                                          slurmctld is away
    the controller's clock            GET diag            a clock set back would hide all changes

Subscribers hear which names changed and how; they read the tables. When Slurm does not answer the
tables stay, `unknown_since` says from when they may be wrong, and the first answer is a full read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from msgspec import Struct

from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.controller_clock import ControllerClock
from windlass.slurm.errors import SlurmError
from windlass.slurm.feed import Feed, Sender
from windlass.slurm.job_reading import USUAL, JobReading, Thrift
from windlass.slurm.model import Job, Listing, Node, NodeAllocation, Partition, Reservation
from windlass.slurm.pace import QUICK, SLOW, Pace, Rhythm, beat_of, until_beat
from windlass.slurm.table import by_name
from windlass.values.clock import Clock, Instant, Seconds

T = TypeVar("T", bound=Struct)
R = TypeVar("R")

PATIENCE: Final = Seconds(1.5)
PROMPT: Final = Seconds(0.5)
"""A question about nodes that waits for longer is a reason to ask whether anybody is there."""
CHECK: Final = Seconds(30.0)
ANSWER: Final = Seconds(30.0)


@dataclass(slots=True)
class Mirror:
    """`run` keeps it current until it is cancelled, and needs a parent task."""

    slurm: Sender
    clock: Clock
    pace: Pace = QUICK
    jobs_pace: Pace = QUICK
    slow: Pace = SLOW
    check_every: Seconds = CHECK
    """Between two looks at the controller's clock."""
    thrift: Thrift = USUAL
    answer_within: Seconds = ANSWER
    """A question without an answer for so long counts as silence, and is asked again; each time
    with more patience, for a Slurm that is just slow."""
    nodes: Feed[Node] = field(default_factory=lambda: Feed("nodes"))
    jobs: Feed[Job] = field(default_factory=lambda: Feed("jobs"))
    partitions: Feed[Partition] = field(default_factory=lambda: Feed("partitions"))
    reservations: Feed[Reservation] = field(default_factory=lambda: Feed("reservations"))
    _reading: JobReading = field(init=False)

    def __post_init__(self) -> None:
        self._reading = JobReading(self.jobs, self, self.clock, self.thrift)

    async def send(self, request: Request[R]) -> R:
        return await self.slurm.send(request)

    @property
    def feeds(self) -> tuple[Feed[Any], ...]:
        return (self.nodes, self.jobs, self.partitions, self.reservations)

    async def synced(self) -> None:
        """Return once every kind has been read."""
        for feed in self.feeds:
            await feed.read.wait()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for feed, poll, pace in self._pollers():
                tasks.create_task(self._keep(feed, poll, pace), name=f"mirror {feed.kind}")
            tasks.create_task(self._pulse(), name="mirror pulse")
            tasks.create_task(self._watch_clock(), name="mirror clock")

    def _pollers(self) -> tuple[tuple[Feed[Any], Callable[[], Awaitable[bool]], Pace], ...]:
        return (
            (self.nodes, lambda: self._poll(self.nodes, requests.nodes), self.pace),
            (self.jobs, self._reading.poll, self.jobs_pace),
            (self.partitions, lambda: self._poll(self.partitions, requests.partitions), self.slow),
            (
                self.reservations,
                lambda: self._poll(self.reservations, requests.reservations),
                self.slow,
            ),
        )

    # --- One kind --------------------------------------------------------------------------

    async def _keep(self, feed: Feed[T], poll: Callable[[], Awaitable[bool]], pace: Pace) -> None:
        rhythm = Rhythm.start(pace)
        while True:
            began = feed.asked_at = self.clock.monotonic()
            try:
                async with asyncio.timeout(self.answer_within * (1 + rhythm.failures)):
                    changed = await poll()
            except (SlurmError, TimeoutError):
                self._lose(feed)
                rhythm = rhythm.after_failure()
            else:
                cost = Seconds(self.clock.monotonic() - began)
                rhythm = rhythm.after_change(cost) if changed else rhythm.after_nothing(cost)
                feed.looked_at = began
                feed.read.set()
                feed.tell_staleness(unknown=False)
                feed.tell_answer()
            feed.asked_at = None
            await self._pause(feed, rhythm)

    async def _pause(self, feed: Feed[T], rhythm: Rhythm) -> None:
        beats = () if rhythm.failures else rhythm.pace.beats
        began = self.clock.monotonic()
        if not beats or feed.expecting() is None:
            try:
                async with asyncio.timeout(rhythm.wait):
                    await feed.nudged.wait()
            except TimeoutError:
                return
        feed.nudged.clear()
        if beats and (expected := feed.expecting()) is not None:
            await self.clock.sleep(self._until_beat(feed, beats, expected))
            feed.nudged.clear()
        elif (left := began + rhythm.soonest - self.clock.monotonic()) > 0:
            await self.clock.sleep(Seconds(left))
            feed.nudged.clear()

    def _until_beat(self, feed: Feed[T], beats: Sequence[float], expected: Seconds) -> Seconds:
        """What came to be expected since the last look will be seen at the beat at which others
        were; where that look ought to have shown some of it and did not, at any. A beat that came
        while we waited for an answer, or were busy, is made up for."""
        if feed.met_at is not None and expected > feed.looked_at:
            beats = (beat_of(beats, feed.met_at),)
        now, ago = self.clock.now(), self.clock.monotonic() - max(expected, feed.looked_at)
        return until_beat(beats, now, Instant(now - ago))

    def _lose(self, feed: Feed[T]) -> None:
        feed.table.lose(self.clock.now())
        feed.tell_staleness(unknown=True)

    async def _poll(
        self, feed: Feed[T], request: Callable[[int | None], Request[Listing[T] | None]]
    ) -> bool:
        async with feed.turn:
            asked_at = self.clock.now()
            since, feed.anew = None if feed.anew else feed.table.since, False
            listing = await self.slurm.send(request(since))
            if listing is None:
                feed.table.confirm(asked_at)
                return False
            found = feed.table.replace(by_name(_name, listing.items), asked_at)
            feed.table.since = listing.as_of
            feed.publish(found)
            return bool(found)

    async def read_now(self) -> None:
        """Read nodes and jobs as they are from this moment on; raises if Slurm does not answer."""
        await self._poll(self.nodes, requests.nodes)
        await self._reading.poll()

    async def refresh(self, *job_ids: int | str) -> None:
        """Read these jobs now: the caller has changed what leaves their state alone."""
        await self._reading.refresh(*job_ids)

    def submitted(self, job: Job) -> None:
        """Have a new job taken for what the caller knows of it while it has only begun to wait."""
        self._reading.submitted(job)

    def held(self, number: int) -> tuple[NodeAllocation, ...] | None:
        """What a job holds that runs, where it was asked for that when it started."""
        return self._reading.held(number)

    # --- Is anybody there, and what time is it there ---------------------------------------

    async def _pulse(self) -> None:
        """Know soon that slurmctld is away, or back."""
        was_alive = True
        while True:
            alive = (was_alive and self._heard()) or await self._alive()
            for feed in self.feeds:
                if not alive and feed.read.is_set():
                    self._lose(feed)
                if alive and not was_alive:
                    feed.nudge()
            was_alive = alive
            await self.clock.sleep(self.pace.rest)

    def _heard(self) -> bool:
        """Whether the last question about nodes was answered, and none waits for long."""
        table, asked = self.nodes.table, self.nodes.asked_at
        if table.as_of is None or table.unknown_since is not None:
            return False
        return asked is None or self.clock.monotonic() - asked < PROMPT

    async def _alive(self) -> bool:
        """A ping that was under way when slurmctld died takes ten seconds: it counts as a no."""
        try:
            async with asyncio.timeout(PATIENCE):
                return any(ping.responding for ping in await self.slurm.send(requests.ping()))
        except (SlurmError, TimeoutError):
            return False

    async def _watch_clock(self) -> None:
        clock = ControllerClock()
        while True:
            with suppress(SlurmError):
                told = (await self.slurm.send(requests.diag())).now
                if clock.was_set_back(told, self.clock.monotonic()):
                    self._read_anew(self.feeds)
                ahead = (each for each in self.feeds if (each.table.since or 0) > told + 1)
                self._read_anew(ahead)
            await self.clock.sleep(self.check_every)

    def _read_anew(self, feeds: Iterable[Feed[Any]]) -> None:
        """Ask for everything, since questions for changes would not bring all of them."""
        for feed in feeds:
            feed.table.since = None
            if feed is self.jobs:
                self._reading.anew()
            feed.nudge()


def _name(item: Struct) -> str:
    return str(item.name)  # type: ignore[attr-defined] # every listed kind has one
