"""How much is submitted before it is seen what becomes of it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from windlass.bridge.gang import GangKey
from windlass.bridge.under_way import FEWEST, FIRST, MOST, UNTRIED, UnderWay
from windlass.testing.virtual import VirtualClock, run
from windlass.values.clock import Seconds

MANY = int(FIRST)
A, B, C = (GangKey("Pod", "team", name) for name in "abc")


def play(story: Callable[[UnderWay], Awaitable[None]]) -> None:
    async def main() -> None:
        await story(UnderWay(VirtualClock()))

    run(main())


def test_who_finds_no_room_is_called_when_there_is_in_turn() -> None:
    async def story(under_way: UnderWay) -> None:
        assert under_way.enter(A, MANY)
        assert not under_way.enter(B, MANY)
        assert not under_way.enter(C, 1)
        assert under_way.read() == []
        under_way.leave(A)
        assert not under_way.enter(C, 1)
        assert under_way.read() == [B]
        assert under_way.enter(B, MANY)
        under_way.leave(B)
        assert under_way.read() == [C]
        assert under_way.enter(C, 1)

    play(story)


def test_pods_that_are_not_bound_yet_take_room_also_when_their_job_runs() -> None:
    async def story(under_way: UnderWay) -> None:
        assert under_way.enter(A, MANY)
        assert not under_way.enter(B, 1)
        assert not under_way.enter(C, 1)
        under_way.started(A, MANY)
        assert under_way.read() == []
        under_way.bound(A, Seconds(0.1))
        assert under_way.call() == [B]
        under_way.bound(A, Seconds(0.1))
        assert under_way.call() == [C]

    play(story)


def test_pods_that_wait_for_something_else_than_their_turn_make_room() -> None:
    async def story(under_way: UnderWay) -> None:
        under_way.started(A, MANY)
        assert not under_way.enter(B, 1)
        await asyncio.sleep(3)
        assert under_way.read() == [B]

    play(story)


def test_a_gang_whose_job_has_to_wait_makes_room() -> None:
    async def story(under_way: UnderWay) -> None:
        assert under_way.enter(A, MANY)
        assert not under_way.enter(B, MANY)
        await asyncio.sleep(2)
        assert under_way.read() == [B]

    play(story)


def test_who_was_called_and_does_not_come_makes_room() -> None:
    async def story(under_way: UnderWay) -> None:
        assert under_way.enter(A, MANY)
        assert not under_way.enter(B, MANY)
        assert not under_way.enter(C, MANY)
        under_way.leave(A)
        assert under_way.read() == [B]
        await asyncio.sleep(2)
        assert under_way.read() == [C]
        assert not under_way.enter(B, MANY)

    play(story)


def test_a_gang_that_is_larger_than_that_goes_alone() -> None:
    async def story(under_way: UnderWay) -> None:
        assert under_way.enter(A, 10 * MANY)
        assert not under_way.enter(B, 1)
        under_way.forget()
        assert under_way.enter(B, 1)

    play(story)


def test_pods_that_are_bound_late_make_less_be_under_way() -> None:
    async def story(under_way: UnderWay) -> None:
        for _ in range(30):
            await asyncio.sleep(1)
            under_way.bound(A, Seconds(0.2))
        assert under_way.most == MANY
        for _ in range(30):
            await asyncio.sleep(1)
            under_way.bound(A, Seconds(2))
        assert under_way.most == FEWEST

    play(story)


def test_nothing_more_is_under_way_after_pods_were_bound_late() -> None:
    async def story(under_way: UnderWay) -> None:
        under_way.enter(A, 10 * int(MOST))
        under_way.enter(B, 1)
        await asyncio.sleep(1)
        under_way.bound(A, Seconds(2))
        less = under_way.most
        await asyncio.sleep(1)
        under_way.read()
        assert under_way.most == less
        under_way.enter(C, 10 * int(MOST))
        under_way.enter(A, 1)
        await asyncio.sleep(2)
        under_way.read()
        assert under_way.most > less

    play(story)


@pytest.mark.parametrize(("starts", "most"), [(True, MOST), (False, UNTRIED)])
def test_somebody_who_waits_makes_more_be_under_way(starts: bool, most: float) -> None:
    async def story(under_way: UnderWay) -> None:
        for _ in range(60):
            under_way.enter(A, 10 * int(MOST))
            under_way.enter(B, 10 * int(MOST))
            await asyncio.sleep(1)
            under_way.leave(A)
            if starts:
                under_way.bound(A, Seconds(0.2))
            under_way.read()
            under_way.leave(B)
        assert under_way.most == most

    play(story)
