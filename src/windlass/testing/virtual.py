"""Virtual time: an event loop whose clock jumps to the next timer, and Windlass's clock on it.

Hours pass in no time, always the same way.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from windlass.values.clock import Instant, Seconds

T = TypeVar("T")


class NothingWillHappen(RuntimeError):
    """Every task waits and no timer is set: the test would hang for ever."""


class _JumpingSelector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise NothingWillHappen
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


@dataclass(slots=True)
class VirtualClock:
    """`ahead` is how far the wall clock stands from the loop's time; a test may make it jump."""

    ahead: float = 1_000_000.0

    def now(self) -> Instant:
        return Instant(self.ahead + clock())

    def monotonic(self) -> Seconds:
        return Seconds(clock())

    async def sleep(self, seconds: Seconds) -> None:
        await asyncio.sleep(seconds)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end in virtual time, which starts at 0."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def clock() -> float:
    """The time of the running loop."""
    return asyncio.get_running_loop().time()
