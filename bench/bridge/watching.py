"""Pods as a watch shows them: when each was bound, and to whose job."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bench.bridge.manifests import NAMESPACE
from windlass.bridge.observed import job_id, kept
from windlass.kube import kinds
from windlass.kube.client import Client
from windlass.kube.objects import Pod
from windlass.kube.reflector import Mirror
from windlass.kube.requests import Selection
from windlass.kube.watch import Watched


@dataclass(frozen=True, slots=True)
class Bound:
    at: float
    """By the wall."""
    job: int | None


@dataclass(slots=True)
class Pods:
    there: set[str] = field(default_factory=set)
    bound: dict[str, Bound] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)

    def hear(self, old: Pod | None, new: Pod | None) -> None:
        item = new or old
        assert item is not None
        name = item.metadata.name
        if new is None:
            self.there.discard(name)
            self.bound.pop(name, None)
            self.held.discard(name)
            return
        self.there.add(name)
        if new.spec.node_name and name not in self.bound:
            self.bound[name] = Bound(time.time(), job_id(new))
        if kept(new):
            self.held.add(name)

    def all_bound(self, names: list[str]) -> bool:
        return len(self.bound) >= len(names) and all(name in self.bound for name in names)


@asynccontextmanager
async def watching(client: Client) -> AsyncIterator[Pods]:
    pods, seen = Watched(kinds.POD, Pod, Selection(NAMESPACE)), Pods()
    mirror = Mirror(client, [pods])
    mirror.store(pods).subscribe(seen.hear)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(mirror.run())
        await mirror.synced()
        yield seen
        running.cancel()
