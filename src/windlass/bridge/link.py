"""The Slurm that the bridge submits to: one mirror of it, and a way to send.

What was submitted and is not seen yet is remembered here, so that nobody submits it again: also
where nobody knows whether Slurm has heard it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from windlass.bridge.gang import GangKey
from windlass.bridge.jobs import OurJobs, Ours
from windlass.bridge.marker import Marker
from windlass.bridge.next_second import NextSecond
from windlass.bridge.sent import UNSEEN, Identity, Sent
from windlass.bridge.under_way import UnderWay
from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.errors import Absent, SlurmError, Unavailable
from windlass.slurm.job_reading import Thrift
from windlass.slurm.line import Line
from windlass.slurm.mirror import Mirror
from windlass.slurm.model import Job, Node, NodeAllocation
from windlass.slurm.pace import STARTS, Pace
from windlass.slurm.specs import JobSpec
from windlass.slurm.table import Change
from windlass.slurm.tokens import Tokens
from windlass.slurm.transport import Transport
from windlass.values import backoff
from windlass.values.clock import Clock, Instant, Seconds
from windlass.values.states import JobState

R = TypeVar("R")
Dial: TypeAlias = Callable[[], AbstractAsyncContextManager[Transport]]

FIRST: Final = Seconds(1.0)
CAP: Final = Seconds(60.0)
SETTLING: Final = Seconds(3.0)
"""A submit of the one who led before us may be on its way for so long."""
ANSWER: Final = Seconds(60.0)
"""A list of many thousand jobs takes its time."""
THRIFT: Final = Thrift(rarely=100, reads_starts=False)
"""Such a list keeps everybody waiting meanwhile; and of jobs that we made only the place is new."""
NODES: Final = Pace(busy=Seconds(1.0), churn=Seconds(3.0))
"""Each job that starts changes one, and while many do a list of all tells nothing else."""
WAITS: Final = JobState.parse(["PENDING"])

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of Slurm at a moment."""

    jobs: Mapping[str, Job]
    nodes: Mapping[str, Node]
    as_of: Instant
    """When the list of jobs was asked for."""

    def job(self, number: int) -> Job | None:
        return self.jobs.get(str(number))


@dataclass(frozen=True, slots=True)
class Ears:
    """Who is told of what changes in Slurm."""

    gang: Callable[[GangKey], None]
    turn: Callable[[GangKey], None]
    """Of a gang that may be submitted now."""
    job: Callable[[int], None]
    """One that is ours, whichever gang its pods are of by now."""
    nodes: Callable[[str], None]
    everything: Callable[[], None]
    """All that is known became unknown, or known."""
    calm: Callable[[], None]
    """Nobody waits to be bound any more."""


def _nobody(_: object) -> None:
    """Whoever is told."""


DEAF: Final = Ears(_nobody, _nobody, _nobody, _nobody, lambda: None, lambda: None)


class Link:
    """`run` keeps it until it is cancelled, and needs a parent task."""

    thrift: Thrift = THRIFT

    def __init__(self, cluster: str, tokens: Tokens, clock: Clock, dial: Dial) -> None:
        self._cluster = cluster
        self._tokens = tokens
        self._clock = clock
        self._dial = dial
        self._ears = DEAF
        self._check: Callable[[], None] = lambda: None
        self._line: Line | None = None
        self._mirror: Mirror | None = None
        self._ours = OurJobs(cluster)
        self._sent = Sent()
        self._began = clock.now()
        self._held: dict[int, tuple[NodeAllocation, ...]] = {}
        self._under_way = UnderWay(clock)
        self._next_second = NextSecond(clock)
        self._runs_since: dict[int, Seconds] = {}

    def listen(self, ears: Ears) -> None:
        self._ears = ears

    def guard(self, check: Callable[[], None]) -> None:
        """Ask `check`, such as an elector's, right before each write."""
        self._check = check

    # --- reading -----------------------------------------------------------------------------

    def seen(self) -> Seen | None:
        """None before the first reading, and from the first question that was not answered."""
        mirror = self._mirror
        if mirror is None or not (mirror.nodes.table.known and mirror.jobs.table.known):
            return None
        as_of = mirror.jobs.table.as_of
        assert as_of is not None
        return Seen(mirror.jobs.table.items, mirror.nodes.table.items, as_of)

    @property
    def busy(self) -> bool:
        """Whether somebody waits to be submitted, or to be bound."""
        return self._under_way.busy

    def ours(self, key: GangKey) -> tuple[Ours, ...]:
        return self._ours.of(key)

    def gang_of(self, number: int) -> GangKey | None:
        """The gang that a job was submitted for."""
        found = self._ours.get(number)
        return found.marker.key if found else None

    def keys(self) -> list[GangKey]:
        """Of all gangs that have jobs here."""
        return self._ours.keys()

    def submit_in(self, identity: Identity) -> float:
        """Seconds until a job of this identity would be in the list if there were one."""
        seen = self.seen()
        earliest = self._sent.not_before(identity) or Instant(self._began + SETTLING)
        return UNSEEN if seen is None else max(0.0, earliest - seen.as_of)

    async def held(self, number: int) -> tuple[NodeAllocation, ...] | None:
        """What a running job holds, in Slurm's order of nodes; None where it runs no more."""
        if self._mirror is not None and (known := self._mirror.held(number)):
            return known
        if number not in self._held:
            try:
                self._held[number] = await self._send(requests.resources(number))
            except Absent:
                return None
        return self._held[number]

    # --- writing -----------------------------------------------------------------------------

    async def submit(self, marker: Marker, spec: JobSpec) -> int | None:
        """The number of the new job; None where others go first, and the gang is woken when it may.
        Raises Unavailable where nobody knows whether there is one."""
        self._check()
        if not self._under_way.enter(marker.key, len(marker.pods)):
            return None
        known = max((each.job.id for each in self._ours.of(marker.key)), default=0)
        self._sent.sent(marker.identity, self._clock.now(), known)
        try:
            submitted = await self._send(requests.submit(self._next_second.given(spec)))
        except Unavailable as error:
            if not error.sent:
                self._sent.never_sent(marker.identity)
            raise
        except SlurmError:
            self._sent.refused(marker.identity, self._clock.now())
            raise
        self._sent.sent(marker.identity, self._clock.now(), known)
        if self._mirror is not None:
            self._mirror.submitted(_as_submitted(submitted.job_id, spec, self._clock.now()))
        return submitted.job_id

    def bound(self, number: int) -> None:
        """A pod of this job has its place."""
        since, gang = self._runs_since.get(number), self.gang_of(number)
        if since is not None and gang is not None:
            self._under_way.bound(gang, Seconds(self._clock.monotonic() - since))
            self._call(self._under_way.call())
            self._tell_calm()

    async def write(self, request: Request[R]) -> R:
        """Change something in Slurm, while this process may."""
        self._check()
        return await self._send(request)

    async def change_job(self, work: Callable[[], Awaitable[None]]) -> None:
        """Change a job by another way than REST, while this process may."""
        self._check()
        try:
            await work()
        finally:
            if self._mirror is not None:
                self._mirror.jobs.nudge()

    async def refresh(self, number: int) -> None:
        """Have a job read anew whose state has not changed."""
        if self._mirror is not None:
            await self._mirror.refresh(number)

    async def _send(self, request: Request[R]) -> R:
        if self._line is None:
            raise Unavailable("slurmrestd is not reached yet")
        try:
            return await self._line.send(request)
        finally:
            if self._mirror is not None and not request.safe:
                if request.path.startswith("/job"):
                    self._mirror.jobs.nudge()
                else:
                    self._mirror.nodes.nudge(deleted=request.method == "DELETE")

    # --- following ---------------------------------------------------------------------------

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """The mirror waits out every silence; anything else ends it, and it begins anew."""
        started()
        self._began = self._clock.now()
        failures = 0
        while True:
            try:
                await self._follow()
            except Exception:
                failures += 1
                log.exception("cannot follow Slurm")
            await self._clock.sleep(backoff.delay(failures, first=FIRST, cap=CAP))

    async def _follow(self) -> None:
        try:
            async with self._dial() as transport, asyncio.TaskGroup() as tasks:
                self._line = Line(transport, self._tokens)
                mirror = self._mirror = Mirror(
                    self._line, self._clock, NODES, STARTS, thrift=self.thrift, answer_within=ANSWER
                )
                self._ours = OurJobs(self._cluster)
                mirror.jobs.subscribe(self._job_changed)
                mirror.nodes.subscribe(lambda change: self._ears.nodes(change.name), _matters)
                mirror.nodes.subscribe(lambda _: mirror.jobs.nudge())
                mirror.jobs.on_answer(self._jobs_read)
                mirror.jobs.expecting = self._under_way.oldest_sent
                mirror.nodes.on_staleness(self._tell_staleness)
                mirror.jobs.on_staleness(self._tell_staleness)
                tasks.create_task(self._tell_first(mirror), name="first reading of Slurm")
                tasks.create_task(self._next_second.follow(mirror), name="clock of Slurm")
                await mirror.run()
        finally:
            self._line = self._mirror = None
            self._under_way.forget()
            self._ears.everything()

    async def _tell_first(self, mirror: Mirror) -> None:
        await mirror.nodes.read.wait()
        await mirror.jobs.read.wait()
        self._tell_staleness()

    def _job_changed(self, change: Change[Job]) -> None:
        item = change.after or change.before
        if item is None:
            return
        if change.after is None or not change.after.state.running:
            self._held.pop(item.id, None)
            self._runs_since.pop(item.id, None)
        concerned = list(self._ours.take(change))
        if _decides(change):
            for key in concerned:
                self._ears.gang(key)
                self._ears.job(item.id)
        if found := self._ours.get(item.id):
            self._sent.seen(found.marker.identity, item.id)
            self._note_progress(found)

    def _note_progress(self, found: Ours) -> None:
        """Once for each state that a job comes to."""
        number, state, gang = found.job.id, found.job.state, found.marker.key
        if not state.running and not state.pending:
            self._under_way.leave(gang)
        elif state.running and number not in self._runs_since:
            since = self._runs_since[number] = self._asked_at()
            self._under_way.started(gang, len(found.marker.pods), since)

    def _asked_at(self) -> Seconds:
        """When Slurm was asked for what is known now."""
        asked = self._mirror.jobs.asked_at if self._mirror else None
        return Seconds(self._clock.monotonic() if asked is None else asked)

    def _jobs_read(self) -> None:
        was_busy = self.busy
        self._call(self._under_way.read())
        if was_busy:
            self._tell_calm()

    def _tell_calm(self) -> None:
        if not self.busy:
            self._ears.calm()

    def _call(self, gangs: Iterable[GangKey]) -> None:
        for key in gangs:
            self._ears.turn(key)

    def _tell_staleness(self) -> None:
        self._under_way.forget()
        if self.seen() is None:
            log.warning("Slurm does not answer")
        else:
            log.info("Slurm answers")
        self._ears.everything()


def _as_submitted(number: int, spec: JobSpec, now: Instant) -> Job:
    """What is known of a job that Slurm has just taken."""
    return Job(
        id=number,
        name=spec.name or "",
        state=WAITS,
        reason="None",
        partition=spec.partition or "",
        submitted_at=int(now),
        comment=spec.comment or "",
        admin_comment=spec.admin_comment or "",
    )


def _decides(change: Change[Job]) -> bool:
    """Whether more changed of a job that runs than what its start left open for a later look."""
    old, new = change.before, change.after
    if old is None or new is None or old.state != new.state or not new.state.running:
        return True
    return _run(old) != _run(new)


def _run(job: Job) -> tuple[object, ...]:
    return job.nodes, job.comment, job.admin_comment


def _matters(change: Change[Node]) -> bool:
    """Whether more changed than what jobs take of a node."""
    old, new = change.before, change.after
    return old is None or new is None or _standing(old) != _standing(new)


def _standing(node: Node) -> tuple[object, ...]:
    state = node.state
    return (
        (state.drain, state.down, state.external, state.drain and state.busy),
        node.reason,
        node.comment,
        node.partitions,
        node.topology,
        node.features,
        node.active_features,
        node.gres,
        node.cpus,
        node.memory,
        node.address,
    )
