"""How long to wait before the next try; whoever waits brings the clock and the dice.

>>> [delay(tries, first=Seconds(1), cap=Seconds(60)) for tries in (1, 2, 3, 10)]
[1.0, 2.0, 4.0, 60.0]
>>> jittered(Seconds(10), spread=0.2, roll=0.5)
10.0
"""

import math

from windlass.values.clock import Instant, Seconds


def delay(tries: int, *, first: Seconds, cap: Seconds) -> Seconds:
    """The wait after so many failed tries: `first`, then twice as long each time, up to `cap`."""
    if tries < 1 or first <= 0:
        return Seconds(0.0)
    doublings = min(tries - 1, math.ceil(math.log2(max(1.0, cap / first))))
    return Seconds(float(min(cap, math.ldexp(first, doublings))))


def jittered(wait: Seconds, *, spread: float, roll: float) -> Seconds:
    """Move a wait by up to `spread` of itself either way; `roll` is a random number of [0, 1)."""
    return Seconds(wait * (1 + spread * (2 * roll - 1)))


def left(failed_at: Instant, wait: Seconds, now: Instant) -> Seconds:
    """What remains of a wait; never less than nothing, never more than the wait itself."""
    return Seconds(min(wait, max(0.0, failed_at + wait - now)))
