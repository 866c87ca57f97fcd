"""How a process reaches the API server and slurmrestd, and what goes wrong there."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Protocol, TypeVar

from windlass.kube.errors import Unreachable
from windlass.kube.requests import Request
from windlass.slurm.call import Response
from windlass.slurm.errors import Unavailable
from windlass.slurm.transport import Message
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm

T = TypeVar("T")

IRREVOCABLE: Final = frozenset({("delete", "Pod"), ("create", "Pod/binding")})
"""Writes that may stay on the way."""


class Witness(Protocol):
    """Who looks at each write."""

    def over(
        self, who: str, request: Request[Any], *, late: bool = False
    ) -> AbstractContextManager[None]: ...

    def over_slurm(self, who: str, message: Message) -> AbstractContextManager[None]: ...

    def blame(self, what: str) -> None: ...


@dataclass
class Weather:
    """What goes wrong for one process."""

    rng: Random
    kill: Callable[[], None]
    failing: float = 0.0
    """The part of requests that fail: half of the writes after they were carried out."""
    dies_in: int | None = None
    """The process is killed with its so many-th write from now, before or after it."""
    dies_after: bool = False
    late: float = 0.0
    """Seconds by which watches bring what happened."""
    paused: asyncio.Event | None = None
    """While it is not set, what the process sends stays on the way."""
    holds: float = 0.0
    """For so many seconds the next deletion or binding of a pod stays on the way."""
    hung: asyncio.Event | None = None
    """While it is not set, slurmrestd takes requests and does not answer."""

    _never: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def fair(self) -> bool:
        return not (self.failing or self.late or self.paused or self.hung)

    def fails(self) -> bool:
        return bool(self.failing) and self.rng.random() < self.failing

    @asynccontextmanager
    async def write(self, lost: type[Exception], *, counts: bool) -> AsyncIterator[None]:
        """Around a write: the process may die, or the request or its answer be lost."""
        dies = counts and self._dies()
        if dies and not self.dies_after:
            await self._die()
        fails = self.fails()
        if fails and self.rng.random() < 0.5:
            raise lost("the request was lost")
        yield
        if dies:
            await self._die()
        if fails:
            error = lost("the answer was lost")
            if isinstance(error, Unavailable):
                error.sent = True
            raise error

    def _dies(self) -> bool:
        if self.dies_in is None:
            return False
        self.dies_in -= 1
        return self.dies_in <= 0

    async def _die(self) -> None:
        self.kill()
        await self._never.wait()


@dataclass
class KubeLink:
    """Stands where a Client stands."""

    who: str
    kube: FakeKube
    judge: Witness
    weather: Weather
    dead: bool = False
    on_the_way: asyncio.Task[Any] | None = None

    async def send(self, request: Request[T], check: Callable[[], None] | None = None) -> T:
        await asyncio.sleep(0)
        if check is not None and not request.safe:
            check()
        if request.name in IRREVOCABLE and self.weather.holds:
            held, self.weather.holds = self.weather.holds, 0.0
            self.on_the_way = asyncio.create_task(self._arrives(request, held))
            return await asyncio.shield(self.on_the_way)
        left = asyncio.get_running_loop().time()
        await self._travel()
        if not request.safe:
            return await self._write(request, late=asyncio.get_running_loop().time() > left)
        if self.weather.fails():
            raise Unreachable("no answer")
        return self.kube.answer(request)

    async def _arrives(self, request: Request[T], after: float) -> T:
        """Also if the process that sent it is dead by then."""
        await asyncio.sleep(after)
        with self.judge.over(self.who, request, late=True):
            return self.kube.answer(request)

    async def _travel(self) -> None:
        if self.weather.paused is not None:
            await self.weather.paused.wait()
        if self.dead:
            raise Unreachable("the process is dead")

    async def _write(self, request: Request[T], *, late: bool) -> T:
        """Writes of leases and events are not among those at which a process dies."""
        counts = request.name[1] not in ("Lease", "Event")
        async with self.weather.write(Unreachable, counts=counts):
            with self.judge.over(self.who, request, late=late):
                return self.kube.answer(request)

    async def stream(self, request: Request[T]) -> AsyncGenerator[T, None]:
        await self._travel()
        async with aclosing(self.kube.stream(request)) as events:
            async for event in events:
                if self.weather.late:
                    await asyncio.sleep(self.weather.late)
                await self._travel()
                yield event


@dataclass
class SlurmLink:
    """Stands where an HttpTransport stands."""

    who: str
    slurm: FakeSlurm
    judge: Witness
    weather: Weather
    dead: bool = False

    async def round_trip(self, message: Message) -> Response:
        await asyncio.sleep(0)
        if self.dead:
            raise Unavailable("the process is dead")
        if message.method != "GET":
            return await self._write(message)
        for gate in (self.weather.paused, self.weather.hung):
            if gate is not None:
                await gate.wait()
        if self.weather.fails():
            raise Unavailable("no answer")
        return await self.slurm.round_trip(message)

    async def _write(self, message: Message) -> Response:
        """It arrives at once or never: Slurm knows no preconditions, so nothing could keep one that
        arrives late from overtaking an administrator."""
        for gate in (self.weather.paused, self.weather.hung):
            if gate is not None:
                await gate.wait()
                raise Unavailable("the connection broke")
        async with self.weather.write(Unavailable, counts=True):
            with self.judge.over_slurm(self.who, message):
                return await self.slurm.round_trip(message)

    async def close(self) -> None:
        """There is nothing to close."""
