"""In which state jobs are: all of them, or those that are likely to have moved on.

To look at all costs slurmrestd 8 ms for each 1,000, and whoever expects a start looks every second.
Of a long queue few are about to start: those that are new, while older ones have been passed over
and wait for others to end. So for a while it is the new ones that are looked at, and all that run;
once one of those has ended, all again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import Final

from windlass.slurm import requests
from windlass.slurm.feed import NEVER, Sender
from windlass.values.clock import Clock, Instant, Seconds
from windlass.values.states import JobState

FEW: Final = 16
"""So many jobs are always asked for one by one."""
FOR_A_WHILE: Final = Seconds(2.5)
"""After a look at all jobs in which no older one had started."""
MOST: Final = 1500
"""Jobs that one question may name. slurmrestd 26.05 cuts it off at 64 KiB, and says nothing."""
MANY: Final = 500
"""Jobs; of fewer, all are looked at."""
LONG_AGO: Final = Instant(0.0)


@dataclass(frozen=True, slots=True)
class Look:
    """In which state jobs are at a moment; all of them, as far as anybody knows."""

    asked_at: Instant
    all_at: Instant
    """When all of them were asked for."""
    states: Mapping[str, JobState]
    moved: Sequence[str]
    """Those that were in another state at the last look, or not there."""
    gone: bool
    """Whether one was there that Slurm knows no more."""

    def few(self, jobs: Sized, part: float) -> bool:
        """Whether these are so few that each is asked for alone, not more than a part of all."""
        return len(jobs) <= max(FEW, part * len(self.states))


@dataclass(slots=True)
class Looking:
    slurm: Sender
    clock: Clock
    many: int = MANY
    states: Mapping[str, JobState] = field(default_factory=dict)
    """As they were at the last look that somebody took."""
    _all_at: Instant = LONG_AGO
    _some_until: Seconds = NEVER

    async def look(self, new: Collection[str], *, soon: bool) -> Look:
        """Look at jobs, of which these are new; `soon` where it is for those."""
        if not soon or len(self.states) < self.many:
            self._some_until = NEVER
            return await self._look_at_all()
        run = (key for key, state in self.states.items() if not state.pending and not over(state))
        named = {*new, *run}
        if self._will_do(named):
            look = await self._look_at(named)
            if not _frees(look):
                return look
        began = self.clock.monotonic()
        look = await self._look_at_all()
        surprised = any(key not in named and not look.states[key].pending for key in look.moved)
        self._some_until = NEVER if surprised else Seconds(began + FOR_A_WHILE)
        return look

    def take(self, look: Look) -> None:
        """What it showed is known now."""
        self.states = look.states

    def _will_do(self, named: Collection[str]) -> bool:
        """Not where tasks of arrays run, which Slurm calls by several names."""
        short = 0 < len(named) <= min(MOST, len(self.states) / 2)
        lately = self.clock.monotonic() < self._some_until
        return short and lately and all(map(str.isdecimal, named))

    async def _look_at(self, named: Collection[str]) -> Look:
        asked_at = self.clock.now()
        found = await self._ask(named)
        lost = [key for key in named if key in self.states and key not in found]
        states = {**self.states, **found}
        for key in lost:
            del states[key]
        return Look(asked_at, self._all_at, states, self._moved(found), gone=bool(lost))

    async def _look_at_all(self) -> Look:
        asked_at = self.clock.now()
        states = await self._ask(())
        self._all_at = asked_at
        gone = not self.states.keys() <= states.keys()
        return Look(asked_at, asked_at, states, self._moved(states), gone=gone)

    async def _ask(self, named: Iterable[str]) -> dict[str, JobState]:
        return {each.key: each.state for each in await self.slurm.send(requests.job_states(*named))}

    def _moved(self, found: Mapping[str, JobState]) -> list[str]:
        return [key for key, state in found.items() if self.states.get(key) != state]


def _frees(look: Look) -> bool:
    """Whether a place may be free for those that were not looked at."""
    moved = (look.states[key] for key in look.moved)
    return look.gone or any(not state.pending and not state.running for state in moved)


def over(state: JobState) -> bool:
    return state.ended and not state.completing
