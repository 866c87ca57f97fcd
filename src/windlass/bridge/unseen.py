"""How much may be submitted before Slurm's jobs are read again.

What Slurm starts holds its place from then on, and its pods can only be bound as fast as the API
server takes it. Whoever submits a thousand at once has most of them wait for that with their job
running.
"""

import asyncio
from typing import Final

from windlass.values.clock import Instant

AT_ONCE: Final = 48


class UnseenPods:
    """Counts the pods that were submitted since jobs were last asked for."""

    def __init__(self, most: int = AT_ONCE) -> None:
        self._most = most
        self._sent: list[tuple[Instant, int]] = []
        self._changed = asyncio.Event()

    async def room(self, pods: int) -> None:
        """Return once so many more may be submitted; a large gang goes alone."""
        while self._sent and sum(count for _, count in self._sent) + pods > self._most:
            await self._changed.wait()

    def sent(self, at: Instant, pods: int) -> None:
        self._sent.append((at, pods))

    def read(self, asked_at: Instant | None) -> None:
        """Jobs were read; what was submitted later is not seen yet. None: nobody knows when."""
        self._sent = [one for one in self._sent if asked_at is not None and one[0] > asked_at]
        self._changed.set()
        self._changed.clear()
