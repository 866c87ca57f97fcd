"""How much is submitted before it is seen what became of it."""

import asyncio

from windlass.bridge.unseen import UnseenPods
from windlass.values.clock import Instant


def test_more_is_submitted_once_what_was_is_seen() -> None:
    async def story() -> None:
        unseen = UnseenPods(3)
        for at in (1.0, 2.0):
            await unseen.room(1)
            unseen.sent(Instant(at), 1)
        waits = asyncio.create_task(unseen.room(2))
        await asyncio.sleep(0)
        assert not waits.done()
        unseen.read(Instant(0.5))
        await asyncio.sleep(0)
        assert not waits.done()
        unseen.read(Instant(1.0))
        await asyncio.wait_for(waits, 1)

    asyncio.run(story())


def test_a_gang_that_is_larger_than_that_goes_alone() -> None:
    async def story() -> None:
        unseen = UnseenPods(3)
        await unseen.room(10)
        unseen.sent(Instant(1.0), 10)
        waits = asyncio.create_task(unseen.room(1))
        await asyncio.sleep(0)
        assert not waits.done()
        unseen.read(None)
        await asyncio.wait_for(waits, 1)

    asyncio.run(story())
