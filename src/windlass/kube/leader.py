"""Leader election over a Lease: of many processes at most one leads.

What makes it safe: a leader counts from the moment *before* it sent its last successful renewal,
and stops `lease - renew` seconds earlier than anybody may take the lease, who in turn counts from
the moment *after* he saw it change. Only differences of one's own monotonic clock are compared;
the times written in the Lease are for people. A process that was paused finds out by asking
`check` before each write: no timer needs to have run in between.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

log = logging.getLogger(__name__)

Monotonic = Callable[[], float]
WallClock = Callable[[], datetime]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOT_LEADING = -math.inf


class Taken(Exception):
    """The Lease is not as we knew it: made, changed or deleted by somebody else. Read it again."""


class NotLeading(Exception):
    """This process may not act; somebody else may lead by now."""


class Lost(Exception):
    """This process led and may not any more: it should end and begin anew."""


@dataclass(frozen=True, slots=True)
class Lease:
    """What the Lease says; nobody holds it where `holder` is empty."""

    holder: str
    seconds: int
    acquired: datetime = EPOCH
    renewed: datetime = EPOCH
    transitions: int = 0
    version: str = ""
    uid: str = ""

    def says_the_same_as(self, other: "Lease | None") -> bool:
        """Whether no one renewed in between; a changed label is not a renewal."""
        return other is not None and replace(self, version=other.version) == other


class Leases(Protocol):
    """One named Lease on the API server."""

    async def read(self) -> Lease | None: ...

    async def create(self, lease: Lease) -> Lease:
        """Raises Taken where it exists."""

    async def replace(self, lease: Lease) -> Lease:
        """Put it in place of that `uid` and `version`; raises Taken where they are not current."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """Who stands for election, and the three times of client-go, in seconds."""

    identity: str
    lease: int = 15
    renew: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not self.identity:
            raise ValueError("identity: must be unique to the process, such as the pod's name")
        if not self.lease > self.renew > self.retry > 0:
            raise ValueError(
                f"lease {self.lease} s, renew {self.renew:g} s, retry {self.retry:g} s: "
                "make each longer than the next"
            )


class Elector:
    """One candidate; its clock should be one that goes on while the machine sleeps (boot time)."""

    def __init__(
        self, leases: Leases, terms: Terms, clock: Monotonic, wall_clock: WallClock
    ) -> None:
        self._leases = leases
        self._terms = terms
        self._clock = clock
        self._wall_clock = wall_clock
        self._seen: Lease | None = None
        self._seen_at = 0.0
        self._until = NOT_LEADING

    @property
    def leading(self) -> bool:
        """Whether this process may act now, by its own clock."""
        return self._clock() < self._until

    def check(self) -> None:
        """Refuse to go on unless leading: call it right before every write."""
        if not self.leading:
            raise NotLeading(f"{self._terms.identity} does not lead")

    @property
    def holder(self) -> str:
        """Who held the lease when it was last read."""
        return self._seen.holder if self._seen else ""

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait to be elected, then lead until `lead` returns; raises Lost if deposed before that.

        `lead` is cancelled at the loss and has `lease - renew` seconds to come to rest.
        """
        try:
            await self._acquire()
            log.info("leading as %s", self._terms.identity)
            await self._lead(lead)
        finally:
            await self._release()

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> None:
        async def body() -> None:
            await lead()

        async with asyncio.TaskGroup() as tasks:
            leading = tasks.create_task(body(), name="lead")
            keeping = tasks.create_task(self._keep(leading), name="keep the lease")
            leading.add_done_callback(lambda _: keeping.cancel())
        if not keeping.cancelled():
            raise Lost(f"{self._terms.identity} lost the lease; {self.holder or 'nobody'} held it")

    async def _acquire(self) -> None:
        while True:
            await self._try(within=self._terms.renew)
            if self.leading:
                return
            await asyncio.sleep(self._terms.retry)

    async def _keep(self, leading: asyncio.Task[None]) -> None:
        """Renew until that fails for too long, then end the leading."""
        while self.leading:
            await asyncio.sleep(min(self._terms.retry, self._left()))
            if self.leading:
                await self._try(within=self._left())
        leading.cancel()

    def _left(self) -> float:
        return max(0.0, self._until - self._clock())

    async def _try(self, within: float) -> None:
        try:
            async with asyncio.timeout(within):
                await self._attempt()
        except Exception as error:
            log.warning("lease not reached: %s: %s", type(error).__name__, error)

    async def _attempt(self) -> None:
        """Renew or take the lease where that is allowed; `leading` says how it went."""
        if self.leading:
            with contextlib.suppress(Taken):  # a write whose answer we missed may have arrived
                await self._write()
                return
        self._observe(await self._leases.read())
        with contextlib.suppress(Taken):
            await self._write()

    async def _write(self) -> None:
        seen = self._seen
        if seen is not None and not self._free(seen):
            self._until = NOT_LEADING
            return
        sent = self._clock()
        if seen is None:
            written = await self._leases.create(self._ours(seen))
        else:
            written = await self._leases.replace(self._ours(seen))
        self._observe(written)
        self._until = sent + self._terms.renew

    def _observe(self, lease: Lease | None) -> None:
        if lease is None or not lease.says_the_same_as(self._seen):
            self._seen_at = self._clock()
        self._seen = lease

    def _free(self, lease: Lease) -> bool:
        if lease.holder in ("", self._terms.identity):
            return True
        return self._clock() >= self._seen_at + lease.seconds

    def _ours(self, seen: Lease | None) -> Lease:
        now = self._wall_clock()
        ours = Lease(self._terms.identity, self._terms.lease, acquired=now, renewed=now)
        if seen is None:
            return ours
        if seen.holder == ours.holder:
            ours = replace(ours, acquired=seen.acquired, transitions=seen.transitions)
        else:
            ours = replace(ours, transitions=seen.transitions + 1)
        return replace(ours, version=seen.version, uid=seen.uid)

    async def _release(self) -> None:
        """Let go, so that the next leader need not wait for the lease to run out."""
        held = self.leading and self._seen is not None
        self._until = NOT_LEADING
        if not held or self._seen is None:
            return
        free = replace(self._seen, holder="", seconds=1, renewed=self._wall_clock())
        try:
            async with asyncio.timeout(self._terms.retry):
                self._observe(await self._leases.replace(free))
        except Exception as error:
            log.warning("lease not released: %s: %s", type(error).__name__, error)
