"""How much is submitted before it is seen what became of it."""

import asyncio
from collections.abc import Awaitable, Callable

from windlass.bridge.unseen import FEWEST, MOST, UnseenPods
from windlass.testing.virtual import VirtualClock, run


def play(story: Callable[[UnseenPods, VirtualClock], Awaitable[None]]) -> None:
    async def main() -> None:
        clock = VirtualClock()
        await story(UnseenPods(clock), clock)

    run(main())


def test_more_is_submitted_once_what_was_is_seen() -> None:
    async def story(unseen: UnseenPods, clock: VirtualClock) -> None:
        before = clock.now()
        await asyncio.sleep(0.1)
        await unseen.room(FEWEST)
        unseen.sent(FEWEST)
        waits = asyncio.create_task(unseen.room(1))
        await asyncio.sleep(0.1)
        unseen.read(before)
        await asyncio.sleep(0.1)
        assert not waits.done()
        unseen.read(clock.now())
        await asyncio.wait_for(waits, 1)

    play(story)


def test_a_gang_that_is_larger_than_that_goes_alone() -> None:
    async def story(unseen: UnseenPods, _: VirtualClock) -> None:
        await unseen.room(10 * MOST)
        unseen.sent(10 * MOST)
        waits = asyncio.create_task(unseen.room(1))
        await asyncio.sleep(0.1)
        assert not waits.done()
        unseen.read(None)
        await asyncio.wait_for(waits, 1)

    play(story)


def test_the_more_was_done_lately_the_more_may_be_under_way() -> None:
    async def story(unseen: UnseenPods, _: VirtualClock) -> None:
        found = [unseen.most]
        for pods in (100, 10_000):
            unseen.settled(pods)
            found.append(unseen.most)
        await asyncio.sleep(1.5)
        assert [*found, unseen.most] == [FEWEST, 40, MOST, FEWEST]

    play(story)
