"""How much may be submitted before Slurm's jobs are read again.

What Slurm starts holds its place from then on, and its pods can only be bound as fast as the API
server takes it. Whoever submits a thousand at once has most of them wait for that with their job
running. So what is under way is a part of a second's worth of what was lately done.
"""

import asyncio
from collections import deque
from typing import Final

from windlass.values.clock import Clock, Instant, Seconds

FEWEST: Final = 16
MOST: Final = 256
WORTH: Final = 0.4
"""Seconds of work that may be under way."""
LATELY: Final = Seconds(1.0)


class UnseenPods:
    """Counts the pods that were submitted since jobs were last asked for."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sent: list[tuple[Instant, int]] = []
        self._settled: deque[tuple[Seconds, int]] = deque()
        self._changed = asyncio.Event()

    @property
    def most(self) -> int:
        """What may be unseen now."""
        while self._settled and self._settled[0][0] < self._clock.monotonic() - LATELY:
            self._settled.popleft()
        lately = sum(count for _, count in self._settled)
        return min(MOST, max(FEWEST, int(lately * WORTH / LATELY)))

    async def room(self, pods: int) -> None:
        """Return once so many more may be submitted; a large gang goes alone."""
        while self._sent and sum(count for _, count in self._sent) + pods > self.most:
            await self._changed.wait()

    def sent(self, pods: int) -> None:
        self._sent.append((self._clock.now(), pods))

    def settled(self, pods: int) -> None:
        """So many were bound, or have to wait."""
        self._settled.append((self._clock.monotonic(), pods))

    def read(self, asked_at: Instant | None) -> None:
        """Jobs were read; what was submitted later is not seen yet. None: nobody knows when."""
        self._sent = [one for one in self._sent if asked_at is not None and one[0] > asked_at]
        self._changed.set()
        self._changed.clear()
