"""The end of a run: until all is right, and then a while in which nothing may be written."""

from collections.abc import Callable
from typing import Final, Protocol

from windlass.testing.virtual import clock

STILL: Final = 70.0
"""Longer than passes wait before they look again."""


class Judges(Protocol):
    writes: list[str]

    def blame(self, sentence: str) -> None: ...

    def conclude(self) -> None: ...


class Settles(Protocol):
    @property
    def judge(self) -> Judges: ...

    async def pass_time(self, seconds: float) -> None: ...


async def settle(
    stage: Settles, unsettled: Callable[[], str | None], patience: float, look: float, still: float
) -> None:
    until = clock() + patience
    while (why := unsettled()) is not None:
        if clock() > until:
            stage.judge.blame(f"after {patience:g} s without faults {why}")
        await stage.pass_time(look)
    await stage.pass_time(look)
    before = len(stage.judge.writes)
    await stage.pass_time(still)
    more = stage.judge.writes[before:]
    if more:
        stage.judge.blame(f"{len(more)} writes although all was right: {', '.join(more[:3])}")
        stage.judge.conclude()
