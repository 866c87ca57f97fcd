"""Many calls side by side, but no more than slurmrestd answers at once."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 8


async def for_each(items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Wait for all; the first SlurmError is raised as itself, after the others have ended."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(item: T) -> None:
        async with places:
            await work(item)

    answers = await asyncio.gather(*map(one, items), return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
