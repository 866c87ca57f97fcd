"""Steps that tests of the client and the mirror on a real Slurm share."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from windlass.slurm import MintedToken
from windlass.slurm.client import Client
from windlass.slurm.mirror import Mirror
from windlass.testing.slurm import RealSlurm
from windlass.values.clock import Instant, Seconds


class WallClock:
    def now(self) -> Instant:
        return Instant(time.time())

    def monotonic(self) -> Seconds:
        return Seconds(time.monotonic())

    async def sleep(self, seconds: Seconds) -> None:
        await asyncio.sleep(seconds)


def minted(slurm: RealSlurm, **fields: Any) -> MintedToken:
    return MintedToken(slurm.jwt_key.read_bytes(), WallClock(), user="root", **fields)


def external(names: str) -> str:
    return f"NodeName={names} CPUs=4 RealMemory=1000 State=EXTERNAL NodeAddr=127.0.0.1"


async def until(condition: Callable[[], bool], within: float = 20.0) -> float:
    """Wait for a condition; return how long that took."""
    began = time.monotonic()
    async with asyncio.timeout(within):
        while not condition():
            await asyncio.sleep(0.01)
    return time.monotonic() - began


@asynccontextmanager
async def mirrored(client: Client, **fields: Any) -> AsyncIterator[Mirror]:
    """A mirror that runs; whatever ends its tasks ends the test."""
    mirror = Mirror(client, WallClock(), **fields)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(mirror.run())
        try:
            await mirror.synced()
            yield mirror
        finally:
            running.cancel()
