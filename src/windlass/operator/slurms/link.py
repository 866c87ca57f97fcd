"""One Slurm, followed: a mirror of it, and who has to hear of its nodes."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from windlass.operator.slurms.place import Found, Place
from windlass.operator.slurms.seen import Occupancy, Seen
from windlass.slurm.call import Request
from windlass.slurm.errors import SlurmError, Unavailable
from windlass.slurm.job_reading import Thrift
from windlass.slurm.line import Line
from windlass.slurm.mirror import Mirror
from windlass.slurm.model import Job, Node
from windlass.slurm.pace import CALM
from windlass.slurm.table import Change
from windlass.slurm.tokens import MintedToken
from windlass.slurm.transport import Address, HttpTransport, Transport
from windlass.values import backoff
from windlass.values.clock import Clock, Seconds
from windlass.values.key import Key

R = TypeVar("R")
Dial: TypeAlias = Callable[[Place], AbstractAsyncContextManager[Transport]]

TIMEOUT: Final = 60.0
FIRST: Final = Seconds(1.0)
CAP: Final = Seconds(60.0)
FRESH_WITHIN: Final = 20.0
USER: Final = "slurm"
"""In whose name Slurm is asked: its own."""
LIFESPAN: Final = 900
"""Of a token, in seconds."""

THRIFT: Final = Thrift(reads_ends=False)
"""Which jobs hold workers matters, not how they end."""

log = logging.getLogger(__name__)


def dial(place: Place) -> AbstractAsyncContextManager[Transport]:
    return HttpTransport(Address.parse(place.url), TIMEOUT, place.trust())


@dataclass(frozen=True, slots=True)
class Ears:
    """Called with the names of nodes whose state or reason changed; and when all that is known of
    a Slurm became unknown, or known."""

    node: Callable[[str], None]
    everything: Callable[[], None]


class Link:
    """`run` keeps it until it is cancelled, and needs a parent task."""

    def __init__(self, of: Key, found: Found, ears: Ears, clock: Clock) -> None:
        self.of = of
        self.place = found.place
        self._key = found.key
        self._ears = ears
        self._clock = clock
        self._line: Line | None = None
        self._mirror: Mirror | None = None
        self._occupancy = Occupancy()

    def seen(self) -> Seen | None:
        """None before the first reading, and from the first question that was not answered: what
        was read before may be wrong by now."""
        mirror = self._mirror
        if mirror is None or not (mirror.nodes.table.known and mirror.jobs.table.known):
            return None
        reserved = mirror.reservations.table
        return Seen(
            mirror.nodes.table.items,
            self._occupancy.by_node,
            reserved.items if reserved.known else None,
            self._occupancy.by_partition,
            self._occupancy.unread,
        )

    async def fresh(self) -> Seen | None:
        """What Slurm says from now on, asked for at this moment; None if it does not answer."""
        if self._mirror is None:
            return None
        try:
            async with asyncio.timeout(FRESH_WITHIN):
                await self._mirror.read_now()
        except (SlurmError, TimeoutError):
            return None
        return self.seen()

    async def send(self, request: Request[R]) -> R:
        """Carry a request to Slurm; what it changes is looked for at once."""
        if self._line is None:
            raise Unavailable("no slurmrestd is followed yet")
        try:
            return await self._line.send(request)
        finally:
            if self._mirror is not None and not request.safe:
                deleted = request.method == "DELETE"
                self._mirror.nodes.nudge(deleted=deleted)
                self._mirror.reservations.nudge(deleted=deleted)

    def sign_with(self, key: bytes) -> None:
        """What was read stays; the next request has a new token."""
        if key != self._key:
            log.info("the JWT key of %s changed: tokens are signed anew", self.of)
            self._key = key
            if self._line is not None:
                self._line.tokens = self._tokens()

    def _tokens(self) -> MintedToken:
        return MintedToken(self._key, self._clock, USER, LIFESPAN)

    async def run(self, dial: Dial) -> None:
        """The mirror waits out every silence; anything else ends it, and it begins anew."""
        failures = 0
        while True:
            try:
                await self._follow(dial)
            except Exception:
                failures += 1
                log.exception("cannot follow the Slurm of %s at %s", self.of, self.place.url)
            await self._clock.sleep(backoff.delay(failures, first=FIRST, cap=CAP))

    async def _follow(self, dial: Dial) -> None:
        log.info("following the Slurm of %s at %s", self.of, self.place.url)
        try:
            async with dial(self.place) as transport, asyncio.TaskGroup() as tasks:
                self._line = Line(transport, self._tokens())
                mirror = self._mirror = Mirror(
                    self._line, self._clock, jobs_pace=CALM, thrift=THRIFT
                )
                self._occupancy = Occupancy()
                mirror.jobs.subscribe(self._job_changed)
                mirror.nodes.subscribe(lambda change: self._ears.node(change.name), _matters)
                mirror.nodes.subscribe(self._work_moved, _work_changed)
                mirror.jobs.on_answer(self._jobs_read)
                mirror.reservations.subscribe(lambda _: self._ears.everything())
                mirror.nodes.on_staleness(self._tell_staleness)
                mirror.jobs.on_staleness(self._tell_staleness)
                tasks.create_task(self._tell_first(mirror), name=f"first reading of {self.of}")
                await mirror.run()
        finally:
            self._line = self._mirror = None
            self._ears.everything()

    async def _tell_first(self, mirror: Mirror) -> None:
        await mirror.nodes.read.wait()
        await mirror.jobs.read.wait()
        self._tell_staleness()

    def _work_moved(self, change: Change[Node]) -> None:
        """Jobs came to a node, or left it: which, only a look at jobs can tell."""
        if self._mirror is not None:
            self._occupancy.unread[change.name] = self._clock.monotonic()
            self._mirror.jobs.nudge()

    def _jobs_read(self) -> None:
        if self._mirror is not None:
            self._occupancy.read(self._mirror.jobs.looked_at)

    def _job_changed(self, change: Change[Job]) -> None:
        for node in self._occupancy.take(change):
            self._ears.node(node)

    def _tell_staleness(self) -> None:
        known = self.seen()
        if known is None:
            log.warning("the Slurm of %s does not answer", self.of)
        else:
            log.info("the Slurm of %s answers: %d nodes", self.of, len(known.nodes))
        self._ears.everything()


def _matters(change: Change[Node]) -> bool:
    """Whether more changed than what jobs take of a node."""
    old, new = change.before, change.after
    return old is None or new is None or _standing(old) != _standing(new)


def _work_changed(change: Change[Node]) -> bool:
    """Whether jobs have come to a node, or left it."""
    old, new = change.before, change.after
    if old is None or new is None:
        return any(node.state.busy for node in (old, new) if node)
    return _work(old) != _work(new)


def _work(node: Node) -> tuple[object, ...]:
    return (node.state.busy, node.cpus_allocated, node.memory_allocated, node.gres_used)


def _standing(node: Node) -> tuple[object, ...]:
    return (node.state, node.reason, node.topology, node.features, node.active_features)
