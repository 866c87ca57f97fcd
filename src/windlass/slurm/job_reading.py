"""How the copy of all jobs is kept current, without reading more of them than need be.

`jobs/state` is cheap and tells of every job in which state it is. One that changed is read alone,
which costs what it costs in a list; a list is the dearest call there is. So is an array: read by
its number it brings every task, ended ones too.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import structs

from windlass.slurm import requests
from windlass.slurm.arrays import Arrays, number_of
from windlass.slurm.at_once import for_each
from windlass.slurm.errors import Absent
from windlass.slurm.feed import Feed, Sender
from windlass.slurm.looking import MANY, Look, Looking, over
from windlass.slurm.model import Job, NodeAllocation
from windlass.slurm.starts import Starts, starts
from windlass.slurm.table import Change, job_keys
from windlass.values.clock import Clock, Seconds
from windlass.values.states import JobState

PART: Final = 0.35
"""More than this part of all jobs is read as the whole list: fewer calls, and not much dearer."""
MOST: Final = 0.5
"""So it is where more than this part of all starts at once."""
SOME: Final = 64
"""So many that wait are read besides."""
RARELY: Final = 20
"""The list of all jobs takes at most one part in so many of the time."""
UNREAD: Final = Seconds(3.0)
"""A job that starts or ends within so long is not read before."""
REFRESH: Final = Seconds(5.0)
PUT_OFF: Final = Seconds(30.0)
"""So much later while something is expected."""


@dataclass(frozen=True, slots=True)
class Thrift:
    """What is saved on."""

    refresh_every: Seconds = REFRESH
    """Between two looks for changes that leave a job's state alone."""
    rarely: int = RARELY
    """Such a look takes at most one part in so many of the time, and so does a job array."""
    reads_ends: bool = True
    """Whether a job is read once more when it has ended; otherwise its state is all that changes,
    and one that came and ended between two looks is none."""
    reads_starts: bool = True
    """Whether a job that is known is read once more when it has started; otherwise it is asked only
    for what it holds, where Slurm can say that."""
    many: int = MANY
    """Jobs of which only some are looked at, where others say when new ones may start."""


USUAL: Final = Thrift()


@dataclass(slots=True)
class JobReading:
    feed: Feed[Job]
    slurm: Sender
    clock: Clock
    thrift: Thrift
    _arrays: Arrays = field(init=False)
    _starts: Starts = field(init=False)
    _looking: Looking = field(init=False)
    _submitted: dict[str, Job] = field(default_factory=dict)
    _unread: dict[str, Seconds] = field(default_factory=dict)
    _refresh_at: Seconds | None = None
    _restless: bool = False
    """Whether a job has changed its state since, or is no more; otherwise the list is most likely
    unchanged."""
    _list_cost: float = 0.0

    def __post_init__(self) -> None:
        self._arrays = Arrays(self.clock, self.thrift.rarely)
        self._starts = Starts(self.slurm)
        self._looking = Looking(self.slurm, self.clock, self.thrift.many)

    def anew(self) -> None:
        """Have the whole list read next."""
        self._refresh_at = None

    async def refresh(self, *job_ids: int | str) -> None:
        """Read these jobs now: the caller has changed what leaves their state alone."""
        async with self.feed.turn:
            read = await self._single_jobs([number_of(str(job_id)) for job_id in job_ids])
            self.feed.publish(self.feed.table.patch(_of_one_moment(read, self._looking.states)))

    def submitted(self, job: Job) -> None:
        """Have a new job taken for what the caller knows of it while it has only begun to wait."""
        self._submitted[str(job.id)] = job

    def held(self, number: int) -> tuple[NodeAllocation, ...] | None:
        """What a job holds that runs, where it was asked for that when it started."""
        return self._starts.held.get(str(number))

    async def poll(self) -> bool:
        async with self.feed.turn:
            before = set(self._submitted)
            due = self._refresh_due()
            soon = not due and not self._lost and self.feed.expecting() is not None
            look = await self._looking.look({*before, *self._unread}, soon=soon)
            new = self._new(look, before)
            submitted = {key: job for key, job in new.items() if look.states[key] == job.state}
            starting = self._starting(look, new)
            known = submitted | self._known_ends(look)
            due = due and bool(look.states)
            unknown = self._unknown(look, known.keys() | starting.keys(), due=due)
            numbers = self._arrays.due(unknown)
            few = look.few(numbers, PART)
            if self._lost or (due and not self._restless) or not few:
                found, starting = await self._list_jobs(look), {}
            else:
                began = self.clock.monotonic()
                read = await self._read_jobs(look, numbers, unknown)
                found = self._merge(look, {**known, **read})
                if due:
                    self._put_off(self.clock.monotonic() - began)
            self._looking.take(look)
            self._unread |= dict.fromkeys(submitted, Seconds(self.clock.monotonic() + UNREAD))
            self.feed.publish(found)
            if any(look.states[key].running for key in look.moved):
                self.feed.met_at = look.asked_at
            await self._tell_starts(look, starting)
            return bool(found or starting)

    def _unknown(self, look: Look, known: Container[str], *, due: bool) -> list[str]:
        """The jobs to read: those that changed, and where a refresh is due all that go on."""
        unknown = [
            key for key in look.moved if key not in known and self._to_read(look.states[key])
        ]
        self._restless = self._restless or bool(look.moved or look.gone)
        if due and self._restless:
            unknown += [key for key in self._not_ended(look) if key not in known]
        return unknown

    async def _read_jobs(
        self, look: Look, numbers: Iterable[str], unknown: Iterable[str]
    ) -> dict[str, Job]:
        """The tasks whose array is not read now are as they were but for their state."""
        alone = await self._single_jobs([*numbers, *self._waiting_unread(look)])
        late = self._in_new_states(look, filter(self._arrays.late, unknown))
        return late | _of_one_moment(alone, look.states)

    def _merge(self, look: Look, jobs: Mapping[str, Job]) -> list[Change[Job]]:
        gone = [key for key in self.feed.table.items if key not in look.states]
        return self.feed.table.merge(jobs, gone, look.all_at)

    def _new(self, look: Look, before: set[str]) -> dict[str, Job]:
        """What was submitted and is there. What was `before` Slurm was asked, and is not, has
        gone."""
        new, self._submitted = self._submitted, {}
        for key in new.keys() - before - look.states.keys():
            self._submitted[key] = new[key]
        return {key: job for key, job in new.items() if key in look.states}

    def _to_read(self, state: JobState) -> bool:
        return self.thrift.reads_ends or not over(state)

    def _known_ends(self, look: Look) -> dict[str, Job]:
        """The jobs that have ended and need not be read."""
        over = (key for key in look.moved if not self._to_read(look.states[key]))
        return self._in_new_states(look, over)

    def _starting(self, look: Look, new: Mapping[str, Job]) -> dict[str, Job]:
        """The jobs that have started and need not be read, as they were. If most have, one list has
        them all."""
        if self._lost:
            self._starts.forget()
            return {}
        self._starts.keep(look.moved, look.states)
        if self.thrift.reads_starts:
            return {}
        items = self.feed.table.items
        waited = {key: job for key in look.moved if (job := items.get(key) or new.get(key))}
        starting = {key: job for key, job in waited.items() if starts(key, job, look.states[key])}
        return starting if look.few(starting, MOST) else {}

    async def _tell_starts(self, look: Look, starting: Mapping[str, Job]) -> None:
        """Each as soon as its place is known, for its pods wait; but none before the ends of those
        whose place it may have."""

        def tell(key: str, job: Job) -> None:
            self.feed.publish(self.feed.table.patch({key: job}))

        told = await self._starts.read(starting, look.states, look.asked_at, tell)
        rest = await self._single_jobs(key for key in starting if key not in told)
        self.feed.publish(self.feed.table.patch(_of_one_moment(rest, look.states)))

    def _in_new_states(self, look: Look, keys: Iterable[str]) -> dict[str, Job]:
        items, states = self.feed.table.items, look.states
        return {key: structs.replace(items[key], state=states[key]) for key in keys if key in items}

    def _waiting_unread(self, look: Look) -> list[str]:
        """Jobs that nobody has read yet and that still wait as they were submitted, some of them:
        by now Slurm says why."""
        now, found = self.clock.monotonic(), list[str]()
        for key, due in list(self._unread.items()):
            if due > now or len(found) == SOME:
                break
            del self._unread[key]
            if key in look.states and look.states[key].pending:
                found.append(key)
        return found

    @property
    def _lost(self) -> bool:
        """Whether only the whole list will do: at first, and after a silence."""
        return self._refresh_at is None or self.feed.table.unknown_since is not None

    def _refresh_due(self) -> bool:
        """Whether it is time to look for what `jobs/state` does not tell. It takes its time, so
        whoever expects a start goes first for a while."""
        at = self._refresh_at
        if at is None:
            return False
        expected = self.feed.expecting() is not None
        return self.clock.monotonic() >= (at + PUT_OFF if expected else at)

    def _put_off(self, cost: float) -> None:
        """The next look for it; the dearer this one was, the later."""
        self._restless = False
        wait = max(self.thrift.refresh_every, cost * self.thrift.rarely)
        self._refresh_at = Seconds(self.clock.monotonic() + wait)

    def _not_ended(self, look: Look) -> list[str]:
        """The jobs that have not ended, each by one of its names: most of a list may have."""
        items = self.feed.table.items
        alive = (key for key, state in look.states.items() if key in items and not over(state))
        return list({items[key].id: key for key in alive}.values())

    async def _list_jobs(self, look: Look) -> list[Change[Job]]:
        """Every job with everything, unless nothing at all has changed. The dearest call."""
        began, table = self.clock.monotonic(), self.feed.table
        listing = await self.slurm.send(requests.jobs(None if look.moved else table.since))
        if listing is not None:
            self._list_cost = self.clock.monotonic() - began
        self._put_off(self._list_cost)
        if listing is None:
            table.confirm(look.asked_at)
            return []
        table.since = listing.as_of
        self._arrays.all_read()
        every = {key: job for job in listing.items for key in job_keys(job)}
        return table.replace(every, look.asked_at)

    async def _single_jobs(self, numbers: Iterable[str]) -> list[Job]:
        found: list[Job] = []

        async def look(number: str) -> None:
            began = self.clock.monotonic()
            try:
                records = await self.slurm.send(requests.job_records(number))
            except Absent:
                return
            found.extend(records)
            self._arrays.was_read(number, records, began)

        await for_each(numbers, look)
        return found


def _of_one_moment(read: Iterable[Job], states: Mapping[str, JobState]) -> dict[str, Job]:
    """Jobs that were read one by one, in the states of the last look at all of them.

    One that is read later may run by then in the place of another that is still taken for running.
    """
    return {
        key: job if job.state == states[key] else structs.replace(job, state=states[key])
        for job in read
        for key in job_keys(job)
        if key in states
    }
