"""How much is submitted before it is seen what becomes of it.

What Slurm starts holds its place from then on, and its pods can only be bound as fast as the API
server takes it. Whoever submits a thousand at once has most of them wait for that with their job
running. So only some are under way at a time: fewer when pods are bound late, more when they are
not and somebody has to wait.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from windlass.values.clock import Clock, Seconds

FIRST: Final = 48.0
FEWEST: Final = 8.0
MOST: Final = 512.0
LATE: Final = Seconds(0.6)
"""From the reading that shows a job running to the binding of a pod."""
OFTEN: Final = Seconds(0.5)
"""Between two changes of mind."""
DECIDED: Final = Seconds(1.5)
"""A job that Slurm has not started by then has to wait; it looks once a second."""


@dataclass(frozen=True, slots=True)
class _Sent:
    at: Seconds
    pods: int


class UnderWay:
    """Counts the pods whose job was submitted and neither runs nor has to wait yet."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._most = FIRST
        self._sent: dict[object, _Sent] = {}
        self._somebody_waits = False
        self._changed_at = clock.monotonic()
        self._freed = asyncio.Event()

    @property
    def most(self) -> int:
        return int(self._most)

    async def room(self, pods: int) -> None:
        """Return once so many more may be submitted; a large gang goes alone."""
        while self._sent and sum(each.pods for each in self._sent.values()) + pods > self._most:
            self._somebody_waits = True
            await self._freed.wait()

    def sent(self, job: object, pods: int) -> None:
        self._sent[job] = _Sent(self._clock.monotonic(), pods)

    def seen(self, job: object) -> None:
        """It runs, or is no more."""
        self._sent.pop(job, None)

    def read(self) -> None:
        """Jobs were read, and all that `seen` is told of it was."""
        now = self._clock.monotonic()
        self._sent = {job: one for job, one in self._sent.items() if now - one.at < DECIDED}
        if self._somebody_waits and now - self._changed_at >= OFTEN:
            self._most, self._changed_at = min(MOST, self._most * 1.15 + 1), now
        self._wake()

    def forget(self) -> None:
        """Nobody knows what became of them."""
        self._sent.clear()
        self._wake()

    def bound(self, after: Seconds) -> None:
        """A pod was, so long after its job was seen to run."""
        now = self._clock.monotonic()
        if after > LATE and now - self._changed_at >= OFTEN:
            self._most, self._changed_at = max(FEWEST, self._most * 0.8), now

    def _wake(self) -> None:
        self._somebody_waits = False
        self._freed.set()
        self._freed.clear()
