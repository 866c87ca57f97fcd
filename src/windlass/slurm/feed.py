"""One kind of thing of Slurm's: its table, who wants to hear of it, and when it is read."""

import asyncio
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from msgspec import Struct

from windlass.slurm.call import Request
from windlass.slurm.table import Change, Table
from windlass.values.clock import Instant, Seconds

NEVER: Final = Seconds(-math.inf)
T = TypeVar("T", bound=Struct)
R = TypeVar("R")


class Sender(Protocol):
    async def send(self, request: Request[R]) -> R: ...


@dataclass(slots=True)
class Feed(Generic[T]):
    """One kind: its table, and who wants to hear of it."""

    kind: str
    table: Table[T] = field(default_factory=Table)
    _wakers: list[Callable[[Change[T]], None]] = field(default_factory=list)
    _staleness: list[Callable[[], None]] = field(default_factory=list)
    _answers: list[Callable[[], None]] = field(default_factory=list)
    _told_unknown: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One reading at a time: of two, the older answer might come last."""
    nudged: asyncio.Event = field(default_factory=asyncio.Event)
    read: asyncio.Event = field(default_factory=asyncio.Event)
    anew: bool = False
    """Whether the next question is for everything."""
    expecting: Callable[[], Seconds | None] = lambda: None
    """Since when the oldest change is expected that has not come, by the monotonic clock."""
    met_at: Instant | None = None
    """When the last question was asked that brought such a change."""
    looked_at: Seconds = NEVER
    """When the last question was asked that was answered, by the monotonic clock."""
    asked_at: Seconds | None = None
    """Since when a question waits for its answer, by the monotonic clock."""

    def subscribe(
        self,
        wake: Callable[[Change[T]], None],
        where: Callable[[Change[T]], bool] = lambda _change: True,
    ) -> Callable[[], None]:
        """Have `wake` called for every change that `where` picks; call the answer to stop."""

        def wanted(change: Change[T]) -> None:
            if where(change):
                wake(change)

        self._wakers.append(wanted)
        return lambda: self._wakers.remove(wanted)

    def on_staleness(self, wake: Callable[[], None]) -> None:
        """Have `wake` called when this kind becomes unknown, and when it is known again."""
        self._staleness.append(wake)

    def on_answer(self, wake: Callable[[], None]) -> None:
        """Have `wake` called after each reading, whatever it brought."""
        self._answers.append(wake)

    def publish(self, found: Iterable[Change[T]]) -> None:
        for change in found:
            for wake in tuple(self._wakers):
                wake(change)

    def tell_staleness(self, *, unknown: bool) -> None:
        if unknown != self._told_unknown:
            self._told_unknown = unknown
            for wake in self._staleness:
                wake()

    def tell_answer(self) -> None:
        for wake in self._answers:
            wake()

    def nudge(self, *, deleted: bool = False) -> None:
        """Ask again soon: the caller knows that something has changed.

        Where something was deleted everything is asked for: slurmctld calls a list unchanged of
        which it has just deleted all that there was.
        """
        self.anew = self.anew or deleted
        self.nudged.set()
