"""Time that passes around those who are simulated, and faults that end by themselves in it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from tests.sim.transcript import Transcript
from windlass.testing.virtual import clock

MOMENT: Final = 0.5
"""How often those around the process act."""


class Passing(ABC):
    """A stage has the transcript and keeps what is due."""

    transcript: Transcript
    _due: list[tuple[float, Callable[[], str]]]

    @abstractmethod
    async def tick(self) -> None:
        """Let everybody act once."""

    async def pass_time(self, seconds: float) -> None:
        until = clock() + seconds
        while True:
            await self.tick()
            left = until - clock()
            if left <= 0:
                return
            await asyncio.sleep(min(MOMENT, left))

    def later(self, seconds: float, what: Callable[[], str]) -> None:
        """Let a fault end by itself; what is called says what it did."""
        self._due.append((clock() + seconds, what))

    def end_faults(self) -> None:
        self._due = [(0.0, what) for _, what in self._due]
        self._run_due(clock())

    def _run_due(self, now: float) -> None:
        due = [what for when, what in self._due if when <= now]
        self._due = [each for each in self._due if each[0] > now]
        for what in due:
            self.transcript.say("fault", what())
