"""Time as it is handed in: nothing below the mains reads a clock of its own.

>>> Instant(100.0) + Seconds(2.5)
102.5
"""

from typing import NewType, Protocol

Instant = NewType("Instant", float)
"""A moment: seconds since 1970 in UTC, as Slurm and REST count."""

Seconds = NewType("Seconds", float)
"""A length of time."""


class Clock(Protocol):
    """What knows the time and can wait; tests have one that jumps."""

    def now(self) -> Instant:
        """The time of day; it may jump, so it is for showing and comparing with others' times."""

    def monotonic(self) -> Seconds:
        """Time since some moment; it never jumps, so it is for measuring."""

    async def sleep(self, seconds: Seconds) -> None:
        """Return after that long."""
