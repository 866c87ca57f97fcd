"""One room on an API server in memory, with the operator's own world and executor."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.unit.operator.silence import Silent
from windlass.kube import kinds, requests
from windlass.kube.events import Happening
from windlass.kube.kinds import Kind
from windlass.kube.reflector import Mirror
from windlass.kube.wire import Document
from windlass.operator.executor import Executor
from windlass.operator.reconciler import Reconciler, Room
from windlass.operator.world import RESOURCES, World, watches
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


class Told:
    def __init__(self) -> None:
        self.reasons: list[str] = []

    def record(self, happening: Happening) -> None:
        self.reasons.append(happening.reason)


@dataclass
class Stage:
    kube: FakeKube
    world: World
    executor: Executor
    reconciler: Reconciler[Any]
    told: Told

    async def create(self, kind: Kind, name: str, **fields: Any) -> Document:
        meta = {"name": name, "namespace": "hpc", **fields.pop("metadata", {})}
        made = await self.kube.send(
            requests.create(kind, "hpc", {"metadata": meta, **fields}, Document)
        )
        await self.caught_up()
        return made

    async def change(self, kind: Kind, name: str, fields: dict[str, Any]) -> None:
        where = Key("hpc", name)
        await self.kube.send(requests.merge_patch(kind, where, fields, Document))
        await self.caught_up()

    async def live(self, kind: Kind, name: str) -> dict[str, Any]:
        found = await self.kube.send(requests.get(kind, Key("hpc", name), Document))
        return found.body

    def writes(self) -> int:
        return sum(asked.method != "GET" for asked in self.kube.asked)

    async def settle(self, name: str) -> None:
        """Pass after pass, until one writes nothing and the caches show all that was written."""
        async with asyncio.timeout(10):
            quiet = 0
            while quiet < 3:
                before = self.writes()
                await self.reconciler.reconcile(Key("hpc", name))
                quiet = quiet + 1 if self.writes() == before else 0
                await self.caught_up()

    async def caught_up(self) -> None:
        """The server is in this process: its watches need turns of the loop, not time."""
        for _ in range(50):
            await asyncio.sleep(0)


@asynccontextmanager
async def staged(room: Room[Any]) -> AsyncIterator[Stage]:
    kube = FakeKube(lambda: NOW, RESOURCES)
    watched = watches(())
    mirror = Mirror(kube, watched)
    world = World(kube, mirror, watched)
    told = Told()
    executor = Executor(kube, world, told, Silent())
    await kube.send(requests.create(kinds.NAMESPACE, "", {"metadata": {"name": "hpc"}}, Document))
    task = asyncio.create_task(mirror.run())
    try:
        await mirror.synced()
        reconciler = Reconciler(room, world, executor, lambda: NOW)
        yield Stage(kube, world, executor, reconciler, told)
    finally:
        task.cancel()
        await asyncio.wait([task])
