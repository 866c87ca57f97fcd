"""Whether slurmctld's clock was set back, told from what it says and our own steady clock. Pure.

Slurm asks "changed since?" by the wall clock. After a clock is set back, what changes next bears an
instant before the last listing, and no question that starts at that listing would ever bring it.
"""

from dataclasses import dataclass
from typing import Final

from windlass.values.clock import Seconds

TICK: Final = 1.0
"""slurmctld counts whole seconds, so two readings may disagree by one."""


@dataclass(slots=True)
class ControllerClock:
    _ahead: float | None = None
    """Of our steady clock, at the last reading."""

    def was_set_back(self, told: int, answered_at: Seconds) -> bool:
        """Take a reading; a slow answer may look like a step back, which costs one full read."""
        before, self._ahead = self._ahead, told - answered_at
        return before is not None and self._ahead < before - TICK
