"""What slurmd would do: a Slurm node of a worker's name once its pod is ready."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from bench.workers.watching import Pods
from windlass.slurm import Client, requests
from windlass.values.hostlist import fold

EVERY: Final = 0.2
LINE: Final = "NodeName={} CPUs=4 RealMemory=8000 State=EXTERNAL NodeAddr=127.0.0.1"


@asynccontextmanager
async def registering(slurm: Client, pods: Pods) -> AsyncIterator[None]:
    async def register() -> None:
        known: set[str] = set()
        while True:
            new = pods.by.get("Ready", set()) - known
            if new:
                await slurm.send(
                    requests.create_nodes(LINE.format(fold(sorted(new, key=_ordinal))))
                )
                known |= new
            await asyncio.sleep(EVERY)

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(register())
        yield
        running.cancel()


def _ordinal(name: str) -> int:
    return int(name.rpartition("-")[2])
