"""How an operator process reaches the API server and slurmrestd, and what goes wrong there."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from tests.sim.judge import Judge
from windlass.kube.errors import Unreachable
from windlass.kube.requests import Request
from windlass.slurm.call import Response
from windlass.slurm.errors import Unavailable
from windlass.slurm.transport import Message
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm

T = TypeVar("T")


@dataclass
class Weather:
    """What goes wrong for one process."""

    rng: Random
    failing: float = 0.0
    """The part of requests to Kubernetes that fail: half of them after they were carried out."""
    dies_in: int | None = None
    """The process is killed with its so many-th write from now, before or after it."""
    dies_after: bool = False
    late: float = 0.0
    """Seconds by which watches bring what happened."""
    paused: asyncio.Event | None = None
    """While it is not set, what the process sends stays on the way."""
    holds: float = 0.0
    """For so many seconds the next deletion of a pod stays on the way."""
    hung: asyncio.Event | None = None
    """While it is not set, slurmrestd takes requests and does not answer."""

    @property
    def fair(self) -> bool:
        return not (self.failing or self.late or self.paused or self.hung)


@dataclass
class KubeLink:
    """Stands where a Client stands."""

    who: str
    kube: FakeKube
    judge: Judge
    weather: Weather
    kill: Callable[[], None]
    dead: bool = False
    on_the_way: asyncio.Task[Any] | None = None

    async def send(self, request: Request[T], check: Callable[[], None] | None = None) -> T:
        await asyncio.sleep(0)
        if check is not None and not request.safe:
            check()
        if request.name == ("delete", "Pod") and self.weather.holds:
            held, self.weather.holds = self.weather.holds, 0.0
            self.on_the_way = asyncio.create_task(self._arrives(request, held))
            return await asyncio.shield(self.on_the_way)
        await self._travel()
        if request.safe:
            return self._read(request)
        return await self._write(request)

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

    def _read(self, request: Request[T]) -> T:
        if self._fails():
            raise Unreachable("no answer")
        return self.kube.answer(request)

    async def _write(self, request: Request[T]) -> T:
        dies = self._dies()
        if dies and not self.weather.dies_after:
            await self._die()
        fails = self._fails()
        if fails and self.weather.rng.random() < 0.5:
            raise Unreachable("the request was lost")
        with self.judge.over(self.who, request):
            answer = self.kube.answer(request)
        if dies:
            await self._die()
        if fails:
            raise Unreachable("the answer was lost")
        return answer

    def _fails(self) -> bool:
        return bool(self.weather.failing) and self.weather.rng.random() < self.weather.failing

    def _dies(self) -> bool:
        if self.weather.dies_in is None:
            return False
        self.weather.dies_in -= 1
        return self.weather.dies_in <= 0

    async def _die(self) -> None:
        self.kill()
        await asyncio.Event().wait()

    async def stream(self, request: Request[T]) -> AsyncGenerator[T, None]:
        await self._travel()
        async for event in self.kube.stream(request):
            if self.weather.late:
                await asyncio.sleep(self.weather.late)
            await self._travel()
            yield event


@dataclass
class SlurmLink:
    """Stands where an HttpTransport stands."""

    who: str
    slurm: FakeSlurm
    judge: Judge
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
        return await self.slurm.round_trip(message)

    async def _write(self, message: Message) -> Response:
        """It arrives at once or never: Slurm knows no preconditions, so nothing could keep one that
        arrives late from overtaking an administrator."""
        if self.weather.hung is not None:
            await self.weather.hung.wait()
            raise Unavailable("the connection broke")
        with self.judge.over_slurm(self.who, message):
            return await self.slurm.round_trip(message)

    async def close(self) -> None:
        """There is nothing to close."""
