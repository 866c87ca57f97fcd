"""Keeps stores current: drives the pure protocol of `watch.py` with a client, one task per kind.

What goes wrong on the way is logged, shown as `trouble`, and tried again; only cancellation, or a
subscriber that raises, ends a reflector.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, Generic, Protocol, TypeVar, cast

from windlass.kube.errors import KubeError
from windlass.kube.meta import Object
from windlass.kube.requests import Request
from windlass.kube.store import Store
from windlass.kube.watch import (
    Ask,
    Follow,
    Listing,
    ListWatch,
    Put,
    Removed,
    Replaced,
    Rest,
    Step,
    Watched,
    Watching,
)
from windlass.kube.wire import Page, WatchEvent

A = TypeVar("A")
T = TypeVar("T", bound=Object)

log = logging.getLogger(__name__)


class Talks(Protocol):
    """What a reflector asks of a client."""

    async def send(self, request: Request[A]) -> A: ...

    def stream(self, request: Request[A]) -> AsyncGenerator[A, None]: ...


class Reflector(Generic[T]):
    """One kind, one store, one task."""

    def __init__(
        self,
        client: Talks,
        protocol: ListWatch[T],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.store: Store[T] = Store(protocol.watched.indexes)
        self.synced = asyncio.Event()
        self.trouble: KubeError | None = None
        self._client = client
        self._protocol = protocol
        self._pause = pause

    async def run(self) -> None:
        """Until cancelled."""
        step = self._protocol.start()
        while True:
            step = await self._carried_out(step)
            if step.trouble is not None:
                self._complain(step.trouble)

    async def _carried_out(self, step: Step[T]) -> Step[T]:
        match step.do:
            case Ask(request):
                return await self._listed(cast("Listing[T]", step.state), request)
            case Follow(request):
                return await self._followed(cast("Watching", step.state), request)
            case Rest(seconds):
                await self._pause(seconds)
        return self._protocol.rested(step.state)

    async def _listed(self, state: Listing[T], request: Request[Page[T]]) -> Step[T]:
        try:
            page = await self._client.send(request)
        except KubeError as error:
            return self._protocol.failed(state, error)
        step = self._protocol.listed(state, page)
        self._store(step)
        return step

    async def _followed(self, state: Watching, request: Request[WatchEvent[T]]) -> Step[T]:
        """Store what the watch brings until it ends or something else is to be done."""
        try:
            async with aclosing(self._client.stream(request)) as events:
                async for event in events:
                    step = self._protocol.heard(state, event)
                    if step.do is not None:
                        return step
                    self._store(step)
                    state = cast("Watching", step.state)
        except KubeError as error:
            return self._protocol.failed(state, error)
        return self._protocol.ended(state)

    def _store(self, step: Step[T]) -> None:
        self.trouble = None
        match step.change:
            case Put(item):
                self.store.put(item)
            case Removed(item):
                self.store.remove(item.metadata.key)
            case Replaced(items):
                self.store.replace(items)
                self.synced.set()

    def _complain(self, error: KubeError) -> None:
        self.trouble = error
        kind = self._protocol.watched.kind.plural
        log.warning("%s: %s: %s", kind, type(error).__name__, error)


class Mirror:
    """All that one process watches: a store per Watched, all kept by one parent."""

    def __init__(
        self,
        client: Talks,
        watched: Iterable[Watched[Any]],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.reflectors = {each: Reflector(client, ListWatch(each, chance)) for each in watched}

    def store(self, watched: Watched[T]) -> Store[T]:
        return self.reflectors[watched].store

    async def synced(self) -> None:
        """Wait until every store has been filled once."""
        for reflector in self.reflectors.values():
            await reflector.synced.wait()

    async def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Until cancelled; nobody outlives this call. `started` once all stores are filled."""
        async with asyncio.TaskGroup() as tasks:
            for watched, reflector in self.reflectors.items():
                tasks.create_task(reflector.run(), name=f"watch {watched.kind.plural}")
            await self.synced()
            started()
