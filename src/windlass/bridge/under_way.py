"""How much is submitted before it is seen what becomes of it.

What Slurm starts holds its place from then on, and its pods can only be bound as fast as the API
server takes it. Whoever submits a thousand at once has most of them wait for that with their job
running. So only some are under way at a time, from their submission to the binding of their pods:
fewer when pods are bound late, more when they are not and others have to wait for it.
"""

from dataclasses import dataclass
from typing import Final

from windlass.bridge.gang import GangKey
from windlass.values.clock import Clock, Seconds

FIRST: Final = 64.0
FEWEST: Final = 8.0
UNTRIED: Final = 64.0
"""So many at most while nothing starts, for then all might."""
MOST: Final = 512.0
MORE, LESS = 1.15, 0.85
LATE: Final = Seconds(0.65)
"""From the reading that shows a job running to the binding of a pod."""
GROWS_AFTER, SHRINKS_AFTER = 0.5, 1.0
"""Seconds since it last did."""
LATELY: Final = Seconds(2.5)
DECIDED: Final = Seconds(1.3)
"""A job that Slurm has not started by then has to wait; it looks once a second."""
KEPT: Final = Seconds(2.0)
"""Pods that are not bound by then wait for something else than their turn."""


@dataclass(frozen=True, slots=True)
class _Sent:
    at: Seconds
    pods: int


class UnderWay:
    """Counts the pods whose gang was submitted and does not have to wait yet, or runs and has not
    bound them. Those that find no room are called once there is, in their order."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._most = FIRST
        self._sent: dict[GangKey, _Sent] = {}
        self._unbound: dict[GangKey, _Sent] = {}
        self._queue: dict[GangKey, int] = {}
        self._called: set[GangKey] = set()
        self._grown_at = self._shrunk_at = clock.monotonic()
        self._bound_at = self._late_at = Seconds(-LATELY)

    @property
    def most(self) -> int:
        return int(self._most)

    def any_sent(self) -> bool:
        """Whether it is still open what becomes of something."""
        return bool(self._sent)

    def enter(self, gang: GangKey, pods: int) -> bool:
        """Whether a gang may be submitted now; otherwise it will be called."""
        if gang not in self._called and (self._queue or not self._has_room(pods)):
            self._queue[gang] = pods
            return False
        self._called.discard(gang)
        self._queue.pop(gang, None)
        self._sent[gang] = _Sent(self._clock.monotonic(), pods)
        return True

    def leave(self, gang: GangKey) -> None:
        """It is no more."""
        self._sent.pop(gang, None)
        self._unbound.pop(gang, None)
        self._called.discard(gang)

    def started(self, gang: GangKey, pods: int) -> None:
        """It runs, and so many pods are to be bound."""
        self.leave(gang)
        self._unbound[gang] = _Sent(self._clock.monotonic(), pods)

    def bound(self, gang: GangKey, after: Seconds) -> None:
        """A pod of it was, so long after its job was seen to run."""
        if (left := self._unbound.get(gang)) is not None:
            self._unbound[gang] = _Sent(left.at, left.pods - 1)
            if left.pods <= 1:
                del self._unbound[gang]
        now = self._bound_at = self._clock.monotonic()
        if after <= LATE:
            return
        self._late_at = now
        if now - self._shrunk_at >= SHRINKS_AFTER:
            self._most, self._shrunk_at = max(FEWEST, self._most * LESS), now

    def read(self) -> list[GangKey]:
        """Jobs were read, and those that `leave` have; the answer is who is called."""
        now = self._clock.monotonic()
        self._sent = {gang: one for gang, one in self._sent.items() if now - one.at < DECIDED}
        self._unbound = {gang: one for gang, one in self._unbound.items() if now - one.at < KEPT}
        self._called &= self._sent.keys()
        if self._queue and now - self._grown_at >= GROWS_AFTER and now - self._late_at > LATELY:
            limit = MOST if now - self._bound_at < LATELY else max(self._most, UNTRIED)
            self._most, self._grown_at = min(limit, self._most * MORE + 1), now
        return self.call()

    def forget(self) -> None:
        """Nobody knows what became of them; all will be looked at again."""
        self._sent.clear()
        self._unbound.clear()
        self._queue.clear()
        self._called.clear()

    def call(self) -> list[GangKey]:
        """Those for whom there is room by now; they count from this moment on."""
        now, called = self._clock.monotonic(), []
        while self._queue:
            gang, pods = next(iter(self._queue.items()))
            if not self._has_room(pods):
                break
            del self._queue[gang]
            self._sent[gang] = _Sent(now, pods)
            self._called.add(gang)
            called.append(gang)
        return called

    def _has_room(self, pods: int) -> bool:
        """A gang that is larger than that goes alone."""
        there = sum(each.pods for each in (*self._sent.values(), *self._unbound.values()))
        return not there or there + pods <= self._most
