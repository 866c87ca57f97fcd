"""How long, as Slurm writes it: `1-02:03:04`, `90` (minutes!), `UNLIMITED`.

>>> Duration.parse("1-02:03:04").seconds
93784
>>> print(Duration.parse("90"), Duration.parse("90:30"), Duration.parse("unlimited"))
01:30:00 01:30:30 UNLIMITED
"""

import math
import re
from dataclasses import dataclass
from typing import Final

from windlass.values.malformed import Malformed

_MOST_MINUTES: Final = 2**32 - 4  # the last three of its 32 bits mean something else to Slurm
_UNLIMITED: Final = frozenset({"UNLIMITED", "INFINITE", "-1"})
_SHAPE: Final = re.compile(r"(?:([0-9]+)-)?([0-9]+)(?::([0-9]+))?(?::([0-9]+))?")
_FORMS: Final = (
    "write minutes, minutes:seconds, h:m:s, days-hours, days-h:m, days-h:m:s or UNLIMITED"
)


@dataclass(frozen=True, order=True, slots=True)
class Duration:
    """Whole seconds, or no limit at all, which is longer than every number."""

    seconds: int | float
    """Infinite where there is no limit, else an int."""

    @property
    def unlimited(self) -> bool:
        return math.isinf(self.seconds)

    @property
    def minutes(self) -> int | None:
        """What a time limit takes: minutes, rounded up as Slurm does; None without a limit."""
        return None if self.unlimited else math.ceil(self.seconds / 60)

    def __str__(self) -> str:
        if self.unlimited:
            return "UNLIMITED"
        minutes, seconds = divmod(int(self.seconds), 60)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24)
        clock = f"{hours:02d}:{minutes:02d}:{seconds:02d}"
        return f"{days}-{clock}" if days else clock

    @classmethod
    def of_minutes(cls, minutes: int) -> "Duration":
        return cls(minutes * 60)

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Read what sbatch --time and slurm.conf's time limits take."""
        if text.upper() in _UNLIMITED:
            return UNLIMITED
        shape = _SHAPE.fullmatch(text)
        if not shape or len(text) > 40:
            raise _wrong(text)
        seconds = _seconds(*shape.groups())
        if seconds > _MOST_MINUTES * 60:
            raise Malformed("duration", text, 0, "Slurm cannot count so far", "write UNLIMITED")
        return cls(seconds)


UNLIMITED: Final = Duration(math.inf)


def _seconds(days: str | None, first: str, second: str | None, third: str | None) -> int:
    """The first number is hours behind days or before two others, else minutes."""
    if days is None and third is None:
        return int(first) * 60 + int(second or 0)
    hours = int(days or 0) * 24 + int(first)
    return hours * 3600 + int(second or 0) * 60 + int(third or 0)


def _wrong(text: str) -> Malformed:
    if not text:
        return Malformed("duration", text, 0, "it is empty", _FORMS)
    strange = re.search(r"[^0-9:-]", text)
    if strange:
        return Malformed("duration", text, strange.start(), f"{strange[0]!r} is no digit", _FORMS)
    return Malformed("duration", text, 0, "this is none of Slurm's forms", _FORMS)
