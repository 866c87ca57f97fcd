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

FIRST: Final = 128.0
"""So many at first, and after a rest: what was good for others may be too much for these."""
FEWEST: Final = 8.0
UNTRIED: Final = 128.0
"""So many at most while nothing starts, for then all might."""
MOST: Final = 512.0
A_LITTLE_MORE, MORE, LESS = 1.15, 1.3, 0.5
"""How much more where nobody knows whether that is too much, how much more at most, and how much
less at most."""
EARLY, LATE = Seconds(0.55), Seconds(0.75)
"""From the reading that shows a job running to the binding of a pod."""
AFTER: Final = 0.9
"""Seconds since it last changed: it takes a second to see what that did."""
LATELY: Final = Seconds(2.5)
RESTED: Final = Seconds(5.0)
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
        self._changed_at = clock.monotonic()
        self._bound_at = self._late_at = Seconds(-LATELY)
        self._latest = Seconds(0.0)
        """How late a pod was bound at most, of those that started last."""
        self._done = Seconds(0.0)
        """The same of those that started before and are all bound."""
        self._wave = 0
        """Pods of these that were bound."""
        self._busy_at = clock.monotonic()
        self._telling = False
        """Whether others may have started than those that we were told of."""

    @property
    def most(self) -> int:
        return int(self._most)

    @property
    def busy(self) -> bool:
        """Whether somebody is under way, or waits to be."""
        return bool(self._sent or self._unbound or self._queue)

    def oldest_sent(self) -> Seconds | None:
        """When the first was sent of which it is still open what becomes; who is called and has not
        come yet is none of them."""
        sent = (one.at for gang, one in self._sent.items() if gang not in self._called)
        return min(sent, default=None)

    def enter(self, gang: GangKey, pods: int) -> bool:
        """Whether a gang may be submitted now; otherwise it will be called."""
        now = self._clock.monotonic()
        if not self.busy and now - self._busy_at > RESTED:
            self._most = FIRST
            self._seen()
        self._busy_at = now
        if gang not in self._called and (self._queue or not self._has_room(pods)):
            self._queue[gang] = pods
            return False
        self._called.discard(gang)
        self._queue.pop(gang, None)
        self._sent[gang] = _Sent(now, pods)
        return True

    def leave(self, gang: GangKey) -> None:
        """It is no more."""
        self._sent.pop(gang, None)
        self._unbound.pop(gang, None)
        self._called.discard(gang)

    def started(self, gang: GangKey, pods: int, since: Seconds) -> None:
        """It runs, as it was seen at that time, and so many pods are to be bound."""
        self.leave(gang)
        self._unbound[gang] = _Sent(since, pods)
        if not self._telling:
            self._telling, self._done, self._wave = True, Seconds(0.0), 0

    def bound(self, gang: GangKey, after: Seconds) -> None:
        """A pod of it was, so long after its job was seen to run."""
        if (left := self._unbound.get(gang)) is not None:
            self._unbound[gang] = _Sent(left.at, left.pods - 1)
            if left.pods <= 1:
                del self._unbound[gang]
        self._bound_at = self._busy_at = self._clock.monotonic()
        self._wave += 1
        if after < KEPT:
            self._latest = max(self._latest, after)
        if not self._unbound:
            self._done, self._latest = max(self._done, self._latest), Seconds(0.0)
            if not self._telling:
                self._adapt(self._busy_at)

    def read(self) -> list[GangKey]:
        """Jobs were read, and those that `leave` have; the answer is who is called."""
        now, self._telling = self._clock.monotonic(), False
        self._sent = {gang: one for gang, one in self._sent.items() if now - one.at < DECIDED}
        self._unbound = {gang: one for gang, one in self._unbound.items() if now - one.at < KEPT}
        self._called &= self._sent.keys()
        self._adapt(now)
        return self.call()

    def _adapt(self, now: Seconds) -> None:
        latest = max(self._latest, self._done)
        if latest > LATE:
            self._seen()
            self._shrink(now, LATE / latest)
        elif self._queue and now - self._late_at > LATELY:
            self._grow(now)

    def _shrink(self, now: Seconds, part: float) -> None:
        """To as many as would have been bound in time."""
        self._late_at = now
        if now - self._changed_at >= AFTER:
            self._most, self._changed_at = max(FEWEST, self._most * max(LESS, part)), now

    def _grow(self, now: Seconds) -> None:
        """To as many as would still be bound early. A few that were bound soon do not tell that
        more would have been."""
        if self._unbound:
            return
        if self._done:
            times = min(MORE, EARLY / self._done)
            most = min(MOST, times * min(self._wave, self._most))
            self._seen()
        elif now - self._bound_at > LATELY and now - self._changed_at >= AFTER:
            most = min(UNTRIED, self._most * A_LITTLE_MORE)
        else:
            return
        if most > self._most:
            self._most, self._changed_at = most, now

    def _seen(self) -> None:
        self._latest = self._done = Seconds(0.0)
        self._wave = 0

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
        """Where most of a gang has some, or nobody else is there: those are as many in the middle,
        however large gangs are, and a gang that is larger than that goes alone."""
        there = sum(each.pods for each in (*self._sent.values(), *self._unbound.values()))
        return not there or there + pods / 2 <= self._most
