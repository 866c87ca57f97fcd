"""How much is submitted before it is seen what becomes of it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from windlass.bridge.gang import GangKey
from windlass.bridge.under_way import EARLY, FEWEST, FIRST, LATE, MOST, UNTRIED, UnderWay
from windlass.testing.virtual import VirtualClock, run
from windlass.values.clock import Seconds

MANY = int(FIRST)
A, B, C = (GangKey("Pod", "team", name) for name in "abc")


def play(story: Callable[[UnderWay], Awaitable[None]]) -> None:
    async def main() -> None:
        await story(UnderWay(VirtualClock()))

    run(main())


def _binds(under_way: UnderWay, pods: int, after: float) -> None:
    """The first gang, which has started."""
    under_way.started(A, pods, Seconds(0.0))
    for _ in range(pods):
        under_way.bound(A, Seconds(after))


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
        under_way.started(A, MANY, Seconds(0.0))
        assert under_way.read() == []
        under_way.bound(A, Seconds(0.1))
        assert under_way.call() == [B]
        under_way.bound(A, Seconds(0.1))
        assert under_way.call() == [C]

    play(story)


def test_pods_that_wait_for_something_else_than_their_turn_make_room() -> None:
    async def story(under_way: UnderWay) -> None:
        under_way.started(A, MANY, Seconds(0.0))
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


@pytest.mark.parametrize(("more", "enters"), [(10, True), (16, True), (17, False)])
def test_a_gang_enters_where_half_of_it_has_room(more: int, enters: bool) -> None:
    async def story(under_way: UnderWay) -> None:
        assert under_way.enter(A, MANY - 8)
        assert under_way.enter(B, more) == enters
        assert not under_way.enter(C, 10)

    play(story)


def test_a_gang_that_is_larger_than_that_goes_alone() -> None:
    async def story(under_way: UnderWay) -> None:
        assert under_way.enter(A, 10 * MANY)
        assert not under_way.enter(B, 1)
        under_way.forget()
        assert under_way.enter(B, 1)

    play(story)


@pytest.mark.parametrize(
    ("after", "most"),
    [(0.2, MANY), (LATE, MANY), (LATE * 1.25, 0.8 * MANY), (1.9, 0.5 * MANY), (60, MANY)],
)
def test_pods_that_are_bound_late_make_less_be_under_way(after: float, most: float) -> None:
    async def story(under_way: UnderWay) -> None:
        await asyncio.sleep(1)
        under_way.enter(A, 2)
        under_way.bound(A, Seconds(0.1))
        under_way.bound(A, Seconds(after))
        under_way.read()
        assert under_way.most == int(most)

    play(story)


def test_however_late_pods_are_some_are_under_way() -> None:
    async def story(under_way: UnderWay) -> None:
        for _ in range(30):
            await asyncio.sleep(1)
            under_way.bound(A, Seconds(1.9))
            under_way.read()
        assert under_way.most == FEWEST

    play(story)


def test_after_a_rest_as_many_are_under_way_as_at_first() -> None:
    async def story(under_way: UnderWay) -> None:
        await asyncio.sleep(1)
        under_way.enter(A, 1)
        under_way.bound(A, Seconds(1.0))
        under_way.read()
        under_way.leave(A)
        assert under_way.most < MANY
        await asyncio.sleep(1)
        under_way.enter(A, 1)
        under_way.leave(A)
        assert under_way.most < MANY
        await asyncio.sleep(6)
        under_way.enter(A, 1)
        assert under_way.most == MANY

    play(story)


def test_nothing_more_is_under_way_after_pods_were_bound_late() -> None:
    async def story(under_way: UnderWay) -> None:
        under_way.enter(A, 10 * int(MOST))
        under_way.enter(B, 1)
        await asyncio.sleep(1)
        under_way.bound(A, Seconds(1.5))
        under_way.read()
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


@pytest.mark.parametrize(
    ("after", "most"), [(0.1, 1.3 * MANY), (0.8 * EARLY, 1.25 * MANY), (EARLY * 1.01, MANY)]
)
def test_the_sooner_pods_are_bound_the_more_are_under_way_next(after: float, most: float) -> None:
    async def story(under_way: UnderWay) -> None:
        under_way.enter(A, MANY)
        under_way.enter(B, MANY)
        await asyncio.sleep(3)
        _binds(under_way, MANY, after)
        under_way.read()
        assert under_way.most == pytest.approx(most, abs=1)
        await asyncio.sleep(0.5)
        under_way.read()
        assert under_way.most == pytest.approx(most, abs=1)

    play(story)


@pytest.mark.parametrize(("pods", "most"), [(MANY // 2, MANY), (int(0.9 * MANY), 1.17 * MANY)])
def test_a_few_that_are_bound_soon_do_not_make_more_be_under_way(pods: int, most: float) -> None:
    async def story(under_way: UnderWay) -> None:
        under_way.enter(A, MANY)
        under_way.enter(B, MANY)
        await asyncio.sleep(1)
        _binds(under_way, pods, 0.1)
        under_way.read()
        assert under_way.most == pytest.approx(most, abs=1)

    play(story)


@pytest.mark.parametrize(("told", "most"), [(True, 1.3 * MANY), (False, MANY)])
def test_more_are_under_way_as_soon_as_all_that_started_are_bound(told: bool, most: float) -> None:
    async def story(under_way: UnderWay) -> None:
        for gang in (A, B, C):
            under_way.enter(gang, MANY)
        await asyncio.sleep(1)
        under_way.started(A, MANY, Seconds(0.0))
        if told:
            under_way.read()
        for _ in range(MANY - 1):
            under_way.bound(A, Seconds(0.1))
        assert under_way.most == MANY
        under_way.bound(A, Seconds(0.2))
        assert under_way.most == int(most)

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
                _binds(under_way, under_way.most, 0.2)
            under_way.read()
            under_way.leave(B)
        assert under_way.most == most

    play(story)


def test_who_is_called_and_has_not_come_is_not_expected_to_start() -> None:
    async def story(under_way: UnderWay) -> None:
        assert under_way.enter(A, MANY)
        assert not under_way.enter(B, MANY)
        sent_at = under_way.oldest_sent()
        assert sent_at is not None
        await asyncio.sleep(0.5)
        under_way.leave(A)
        assert under_way.call() == [B]
        assert under_way.oldest_sent() is None
        assert under_way.enter(B, MANY)
        assert (under_way.oldest_sent() or 0.0) > sent_at

    play(story)
