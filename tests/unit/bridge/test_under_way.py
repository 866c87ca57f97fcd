"""How much is submitted before it is seen what becomes of it."""

import asyncio
from collections.abc import Awaitable, Callable

from windlass.bridge.under_way import FEWEST, FIRST, MOST, UnderWay
from windlass.testing.virtual import VirtualClock, run
from windlass.values.clock import Seconds

MANY = int(FIRST)


def play(story: Callable[[UnderWay], Awaitable[None]]) -> None:
    async def main() -> None:
        await story(UnderWay(VirtualClock()))

    run(main())


async def waits(under_way: UnderWay, pods: int = 1) -> "asyncio.Task[None]":
    asking = asyncio.create_task(under_way.room(pods))
    await asyncio.sleep(0.01)
    assert not asking.done()
    return asking


def test_more_is_submitted_once_it_is_seen_that_jobs_run() -> None:
    async def story(under_way: UnderWay) -> None:
        await under_way.room(MANY)
        under_way.sent("a", MANY - 1)
        under_way.sent("b", 1)
        asking = await waits(under_way)
        under_way.read()
        await asyncio.sleep(0.01)
        assert not asking.done()
        under_way.seen("b")
        under_way.read()
        await asyncio.wait_for(asking, 1)

    play(story)


def test_a_job_that_has_to_wait_is_not_waited_for() -> None:
    async def story(under_way: UnderWay) -> None:
        under_way.sent("a", MANY)
        asking = await waits(under_way)
        await asyncio.sleep(2)
        under_way.read()
        await asyncio.wait_for(asking, 1)

    play(story)


def test_a_gang_that_is_larger_than_that_goes_alone() -> None:
    async def story(under_way: UnderWay) -> None:
        await under_way.room(10 * MANY)
        under_way.sent("a", 10 * MANY)
        asking = await waits(under_way)
        under_way.forget()
        await asyncio.wait_for(asking, 1)

    play(story)


def test_pods_that_are_bound_late_make_less_be_under_way() -> None:
    async def story(under_way: UnderWay) -> None:
        for _ in range(30):
            await asyncio.sleep(1)
            under_way.bound(Seconds(0.2))
        assert under_way.most == MANY
        for _ in range(30):
            await asyncio.sleep(1)
            under_way.bound(Seconds(2))
        assert under_way.most == FEWEST

    play(story)


def test_somebody_who_waits_makes_more_be_under_way() -> None:
    async def story(under_way: UnderWay) -> None:
        for _ in range(30):
            under_way.sent("a", 10 * int(MOST))
            asking = await waits(under_way)
            await asyncio.sleep(1)
            under_way.seen("a")
            under_way.read()
            await asking
        assert under_way.most == MOST

    play(story)
