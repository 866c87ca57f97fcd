"""How long to wait before asking Slurm again. Pure.

After a change: soon, since others often follow, but never so soon that asking is most of what
slurmrestd does. At rest: ever later, up to a part of a second, since "nothing changed" costs it a
few milliseconds. When each answer brings another change: later still, since such an answer is a
whole list, and a cluster that starts jobs all the time needs its CPU for them. Without an answer:
backoff.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from windlass.values import backoff
from windlass.values.clock import Instant, Seconds

BUSY: Final = Seconds(0.25)
REST: Final = Seconds(0.3)  # and 0.3 s for a list of 1,000 nodes: seen within a second
CHURN: Final = Seconds(0.6)  # and twice 0.2 s for the list before and the list that has it
AT_ONCE: Final = Seconds(0.0)
A_LITTLE: Final = 0.01
JUST_NOW: Final = 0.25
"""Seconds by which it is not too late for a beat: half of the time between two."""
EVER: Final = Seconds(math.inf)
FAILED_FIRST: Final = Seconds(0.5)
FAILED_MOST: Final = Seconds(10.0)


@dataclass(frozen=True, slots=True)
class Pace:
    """The limits of one kind's rhythm."""

    busy: Seconds = BUSY
    """After a change."""
    rest: Seconds = REST
    """After a long time without any."""
    churn: Seconds = CHURN
    """After a long time with nothing else."""
    slowing: float = 1.5
    """Each answer like the one before makes the next wait longer by this."""
    most_load: float = 0.5
    """The part of the time that may be spent waiting for answers."""
    longest: Seconds = EVER
    """The wait after however dear an answer."""
    nudged: Seconds = AT_ONCE
    """After an answer, even when somebody is in a hurry for the next one."""
    hurried_load: float = 0.5
    """The part of the time that may be spent on answers for who is in a hurry."""
    beats: tuple[float, ...] = ()
    """Parts of a second; while something is expected it is asked then and only then."""
    failed_first: Seconds = FAILED_FIRST
    failed_most: Seconds = FAILED_MOST


QUICK: Final = Pace()
CALM: Final = Pace(
    rest=Seconds(3.0),
    churn=Seconds(3.0),
    most_load=0.1,
    longest=Seconds(3.0),
    nudged=Seconds(0.05),
    hurried_load=0.1,
)
"""For jobs, where only what they do to nodes matters: whoever sees that on a node is in a hurry.
The answer has every job that slurmctld remembers; where short ones come and go all the time there
are thousands, and a node changes with each."""
STARTS: Final = Pace(
    rest=Seconds(1.0),
    churn=Seconds(0.4),
    most_load=0.1,
    longest=Seconds(3.0),
    nudged=Seconds(0.25),
    beats=(0.06, 0.56),
)
"""For jobs, where it matters when they start, and others say when that may be: a long queue is read
seldom while nobody does, for whatever starts or ends changes a node. slurmctld starts what waits as
a second begins, by its own clock: the second beat is for those whose clocks differ."""
SLOW: Final = Pace(busy=Seconds(1.0), rest=Seconds(5.0), churn=Seconds(5.0))
"""For what changes by the hand of an administrator."""


def until_beat(beats: Sequence[float], now: Instant, since: Instant) -> Seconds:
    """The wait until the next of them; none where there has just been one, after `since`."""
    if next_beat(beats, Instant(max(since, now - JUST_NOW))) <= now:
        return AT_ONCE
    return Seconds(next_beat(beats, now) - now)


def next_beat(beats: Sequence[float], moment: Instant) -> Instant:
    """The first of them after a moment; a timer may have woken us a little before this one."""
    part = moment % 1.0
    later = (beat for beat in beats if beat > part + A_LITTLE)
    return Instant(moment - part + min(later, default=1.0 + min(beats)))


def beat_of(beats: Sequence[float], moment: Instant) -> float:
    """The last of them before a moment."""
    part = moment % 1.0 + A_LITTLE
    return max((beat for beat in beats if beat <= part), default=max(beats))


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Where a poller stands; each answer gives the next."""

    pace: Pace
    wait: Seconds
    failures: int = 0
    changing: bool = False
    """Whether the last answer brought a change."""
    soonest: Seconds = AT_ONCE
    """The wait when somebody is in a hurry."""

    @classmethod
    def start(cls, pace: Pace) -> "Rhythm":
        return cls(pace, pace.busy)

    def after_change(self, cost: Seconds) -> "Rhythm":
        wait = self._slower(self.pace.churn) if self.changing else self.pace.busy
        return self._after(wait, cost, changing=True)

    def after_nothing(self, cost: Seconds) -> "Rhythm":
        wait = self._slower(self.pace.rest)
        return self._after(wait, cost, changing=False)

    def after_failure(self) -> "Rhythm":
        failures = self.failures + 1
        first, cap = self.pace.failed_first, self.pace.failed_most
        return Rhythm(self.pace, backoff.delay(failures, first=first, cap=cap), failures)

    def _after(self, wait: float, cost: Seconds, *, changing: bool) -> "Rhythm":
        pace = self.pace
        whole = Seconds(max(wait, min(_breather(cost, pace.most_load), pace.longest)))
        hurried = max(pace.nudged, _breather(cost, pace.hurried_load)) if pace.nudged else 0.0
        return Rhythm(pace, whole, changing=changing, soonest=Seconds(min(whole, hurried)))

    def _slower(self, most: Seconds) -> float:
        return min(most, max(self.pace.busy, self.wait) * self.pace.slowing)


def _breather(cost: Seconds, load: float) -> float:
    """The wait that keeps an answer of this cost within the allowed load."""
    return cost * (1 - load) / load
