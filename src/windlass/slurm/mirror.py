"""A copy of one Slurm's nodes, jobs, partitions and reservations, kept current by cheap calls.

    nodes, partitions, reservations   GET ?update_time=   304 while nothing changed
    jobs                              GET jobs/state      then the few that changed, one by one
    a pulse                           GET ping            while nodes are not answered: elsewhere
                                                          slurmrestd takes 10 s to notice that
                                                          slurmctld is away
    the controller's clock            GET diag            a clock set back would hide all changes

Subscribers hear which names changed and how; they read the tables. When Slurm does not answer the
tables stay, `unknown_since` says from when they may be wrong, and the first answer is a full read.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct, structs

from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.controller_clock import ControllerClock
from windlass.slurm.errors import Absent, SlurmError
from windlass.slurm.model import Job, Listing, Node, Partition, Reservation
from windlass.slurm.pace import QUICK, SLOW, Pace, Rhythm, until_beat
from windlass.slurm.table import Change, Table, by_name, job_keys
from windlass.values.clock import Clock, Instant, Seconds
from windlass.values.states import JobState

T = TypeVar("T", bound=Struct)
R = TypeVar("R")

FEW: Final = 16
"""So many changed jobs are always read one by one."""
PART: Final = 0.35
"""More than this part of all jobs is read as the whole list: fewer calls, and not much dearer."""
SOME: Final = 64
"""So many that wait are read besides."""
AT_ONCE: Final = 8
RARELY: Final = 20
"""The list of all jobs takes at most one part in so many of the time."""
UNREAD: Final = Seconds(3.0)
"""A job that starts or ends within so long is not read before."""
PATIENCE: Final = Seconds(1.5)
PROMPT: Final = Seconds(0.5)
"""A question about nodes that waits for longer is a reason to ask whether anybody is there."""
CHECK: Final = Seconds(30.0)
REFRESH: Final = Seconds(5.0)
ANSWER: Final = Seconds(30.0)


class Sender(Protocol):
    async def send(self, request: Request[R]) -> R: ...


@dataclass(slots=True)
class Feed(Generic[T]):
    """One kind: its table, and who wants to hear of it."""

    kind: str
    table: Table[T] = field(default_factory=Table)
    _wakers: list[Callable[[Change[T]], None]] = field(default_factory=list)
    _staleness: list[Callable[[], None]] = field(default_factory=list)
    _answers: list[Callable[[], None]] = field(default_factory=list)
    _told_unknown: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One reading at a time: of two, the older answer might come last."""
    nudged: asyncio.Event = field(default_factory=asyncio.Event)
    read: asyncio.Event = field(default_factory=asyncio.Event)
    anew: bool = False
    """Whether the next question is for everything."""
    expecting: Callable[[], bool] = lambda: False
    """Whether something is about to change."""
    asked_at: float | None = None
    """Since when a question waits for its answer, by the monotonic clock."""

    def subscribe(
        self,
        wake: Callable[[Change[T]], None],
        where: Callable[[Change[T]], bool] = lambda _change: True,
    ) -> Callable[[], None]:
        """Have `wake` called for every change that `where` picks; call the answer to stop."""

        def wanted(change: Change[T]) -> None:
            if where(change):
                wake(change)

        self._wakers.append(wanted)
        return lambda: self._wakers.remove(wanted)

    def on_staleness(self, wake: Callable[[], None]) -> None:
        """Have `wake` called when this kind becomes unknown, and when it is known again."""
        self._staleness.append(wake)

    def on_answer(self, wake: Callable[[], None]) -> None:
        """Have `wake` called after each reading, whatever it brought."""
        self._answers.append(wake)

    def publish(self, found: Iterable[Change[T]]) -> None:
        for change in found:
            for wake in tuple(self._wakers):
                wake(change)

    def tell_staleness(self, *, unknown: bool) -> None:
        if unknown != self._told_unknown:
            self._told_unknown = unknown
            for wake in self._staleness:
                wake()

    def tell_answer(self) -> None:
        for wake in self._answers:
            wake()

    def nudge(self, *, deleted: bool = False) -> None:
        """Ask again soon: the caller knows that something has changed.

        Where something was deleted everything is asked for: slurmctld calls a list unchanged of
        which it has just deleted all that there was.
        """
        self.anew = self.anew or deleted
        self.nudged.set()


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
    refresh_every: Seconds = REFRESH
    """Between two looks at all jobs, for changes that leave a job's state alone; the dearer such a
    list is, the longer (`rarely`)."""
    rarely: int = RARELY
    reads_ends: bool = True
    """Whether a job is read once more when it has ended; otherwise its state is all that changes,
    and one that came and ended between two looks is none."""
    answer_within: Seconds = ANSWER
    """A question without an answer for so long counts as silence, and is asked again; each time
    with more patience, for a Slurm that is just slow."""
    nodes: Feed[Node] = field(default_factory=lambda: Feed("nodes"))
    jobs: Feed[Job] = field(default_factory=lambda: Feed("jobs"))
    partitions: Feed[Partition] = field(default_factory=lambda: Feed("partitions"))
    reservations: Feed[Reservation] = field(default_factory=lambda: Feed("reservations"))
    _states: dict[str, JobState] = field(default_factory=dict)
    _submitted: dict[str, Job] = field(default_factory=dict)
    _unread: dict[str, Seconds] = field(default_factory=dict)
    _refresh_at: Seconds | None = None
    _restless: bool = False
    """Whether a job has changed its state since; otherwise the list is most likely unchanged."""
    _list_cost: float = 0.0

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
            (self.jobs, self._poll_jobs, self.jobs_pace),
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
                feed.read.set()
                feed.tell_staleness(unknown=False)
                feed.tell_answer()
            feed.asked_at = None
            await self._pause(feed, rhythm)

    async def _pause(self, feed: Feed[T], rhythm: Rhythm) -> None:
        beats = rhythm.pace.beats
        if beats and not rhythm.failures and feed.expecting():
            await self.clock.sleep(until_beat(beats, self.clock.now()))
            feed.nudged.clear()
            return
        if rhythm.soonest:
            await self.clock.sleep(rhythm.soonest)
        try:
            async with asyncio.timeout(rhythm.wait - rhythm.soonest):
                await feed.nudged.wait()
        except TimeoutError:
            return
        feed.nudged.clear()

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
        await self._poll_jobs()

    # --- Jobs ------------------------------------------------------------------------------

    async def refresh(self, *job_ids: int | str) -> None:
        """Read these jobs now: the caller has changed what leaves their state alone."""
        async with self.jobs.turn:
            read = await self._single_jobs([str(job_id) for job_id in job_ids])
            together = _of_one_moment(read, self._states)
            named = {key: job for job in together.values() for key in job_keys(job)}
            self.jobs.publish(self.jobs.table.patch(named))

    def submitted(self, job: Job) -> None:
        """Have a new job taken for what the caller knows of it while it has only begun to wait."""
        self._submitted[str(job.id)] = job

    async def _poll_jobs(self) -> bool:
        async with self.jobs.turn:
            before = set(self._submitted)
            asked_at = self.clock.now()
            states = {each.key: each.state for each in await self.slurm.send(requests.job_states())}
            moved = [key for key, state in states.items() if self._states.get(key) != state]
            submitted = self._known(states, before)
            known = submitted | self._over(states, moved)
            due = self._refresh_due(states)
            unknown = [key for key in moved if key not in known and self._to_read(states[key])]
            self._restless = self._restless or bool(moved)
            if due and self._restless:
                unknown = [*dict.fromkeys([*unknown, *self._not_ended(states)])]
            few = len(unknown) <= max(FEW, PART * len(states))
            if self._lost or (due and not self._restless) or not few:
                since = None if moved else self.jobs.table.since
                found = await self._list_jobs(asked_at, since)
            else:
                gone = [key for key in self.jobs.table.items if key not in states]
                began = self.clock.monotonic()
                alone = await self._single_jobs([*unknown, *self._waiting_unread(states)])
                read = _of_one_moment(alone, states)
                found = self.jobs.table.merge({**known, **read}, gone, asked_at)
                if due:
                    self._put_off(self.clock.monotonic() - began)
            self._states = states
            self._unread |= dict.fromkeys(submitted, Seconds(self.clock.monotonic() + UNREAD))
            self.jobs.publish(found)
            return bool(found)

    def _known(self, states: Mapping[str, JobState], before: set[str]) -> dict[str, Job]:
        """The new jobs that need not be read. What was submitted `before` Slurm was asked, and is
        not there, has gone."""
        new, self._submitted = self._submitted, {}
        for key in new.keys() - before - states.keys():
            self._submitted[key] = new[key]
        return {key: job for key, job in new.items() if states.get(key) == job.state}

    def _to_read(self, state: JobState) -> bool:
        return self.reads_ends or not _over(state)

    def _over(self, states: Mapping[str, JobState], moved: Iterable[str]) -> dict[str, Job]:
        """The jobs that have ended and need not be read."""
        items = self.jobs.table.items
        over = (key for key in moved if key in items and not self._to_read(states[key]))
        return {key: structs.replace(items[key], state=states[key]) for key in over}

    def _waiting_unread(self, states: Mapping[str, JobState]) -> list[str]:
        """Jobs that nobody has read yet and that still wait as they were submitted, some of them:
        by now Slurm says why."""
        now, found = self.clock.monotonic(), list[str]()
        for key, due in list(self._unread.items()):
            if due > now or len(found) == SOME:
                break
            del self._unread[key]
            if key in states and states[key].pending:
                found.append(key)
        return found

    @property
    def _lost(self) -> bool:
        """Whether only the whole list will do: at first, and after a silence."""
        return self._refresh_at is None or self.jobs.table.unknown_since is not None

    def _refresh_due(self, states: Mapping[str, JobState]) -> bool:
        """Whether it is time to look for what `jobs/state` does not tell."""
        at = self._refresh_at
        return bool(states) and at is not None and self.clock.monotonic() >= at

    def _put_off(self, cost: float) -> None:
        """The next look for it; the dearer this one was, the later."""
        self._restless = False
        wait = max(self.refresh_every, cost * self.rarely)
        self._refresh_at = Seconds(self.clock.monotonic() + wait)

    def _not_ended(self, states: Mapping[str, JobState]) -> list[str]:
        """The jobs that have not ended, each by one of its names: most of a list may have."""
        items = self.jobs.table.items
        alive = (key for key, state in states.items() if key in items and not _over(state))
        return list({items[key].id: key for key in alive}.values())

    async def _list_jobs(self, asked_at: Instant, since: int | None) -> list[Change[Job]]:
        """Every job with everything, unless nothing at all has changed. The dearest call."""
        began, table = self.clock.monotonic(), self.jobs.table
        listing = await self.slurm.send(requests.jobs(since))
        if listing is not None:
            self._list_cost = self.clock.monotonic() - began
        self._put_off(self._list_cost)
        if listing is None:
            table.confirm(asked_at)
            return []
        table.since = listing.as_of
        return table.replace({key: job for job in listing.items for key in job_keys(job)}, asked_at)

    async def _single_jobs(self, keys: list[str]) -> dict[str, Job]:
        found: dict[str, Job] = {}
        places = asyncio.Semaphore(AT_ONCE)

        async def look(key: str) -> None:
            async with places:
                try:
                    found[key] = await self.slurm.send(requests.job(key))
                except Absent:
                    return

        await gathered(look(key) for key in keys)
        return found

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
                self._refresh_at = None
            feed.nudge()


def _of_one_moment(read: Mapping[str, Job], states: Mapping[str, JobState]) -> dict[str, Job]:
    """Jobs that were read one by one, in the states of the last look at all of them.

    One that is read later may run by then in the place of another that is still taken for running.
    """
    return {
        key: job if job.state == states[key] else structs.replace(job, state=states[key])
        for job in read.values()
        for key in job_keys(job)
        if key in states
    }


def _over(state: JobState) -> bool:
    return state.ended and not state.completing


def _name(item: Struct) -> str:
    return str(item.name)  # type: ignore[attr-defined] # every listed kind has one


async def gathered(work: Iterable[Awaitable[None]]) -> None:
    """Wait for all; the first SlurmError is raised as itself, after the others have ended."""
    answers = await asyncio.gather(*work, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
