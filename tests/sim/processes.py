"""Processes that are started, killed at any write, and started again."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.sim.links import KubeLink, SlurmLink, Weather, Witness
from tests.sim.transcript import Transcript
from windlass.kube import kinds
from windlass.kube.leader import Lost
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.values.key import Key

RESTART: Final = 3.0
"""How long kubelet takes to start a process again."""


@dataclass(frozen=True)
class Program:
    """What is run, and where."""

    name: str
    lease: Key
    work: Callable[["Process"], Coroutine[Any, Any, None]]
    kube: FakeKube
    slurm: FakeSlurm
    judge: Witness
    transcript: Transcript
    rng: Random


@dataclass
class Process:
    number: int
    program: Program

    def __post_init__(self) -> None:
        of = self.program
        self.name = f"{of.name}-{self.number}"
        self.weather = Weather(of.rng, self.kill)
        self.kube = KubeLink(self.name, of.kube, of.judge, self.weather)
        self.slurm = SlurmLink(self.name, of.slurm, of.judge, self.weather)
        self.task = asyncio.create_task(of.work(self), name=self.name)
        self.killed = False

    def kill(self) -> None:
        """At once, whatever it is doing: nothing that it would still send arrives."""
        if not self.killed:
            self.killed = self.kube.dead = self.slurm.dead = True
            self.program.transcript.say("fault", f"{self.name} is killed")
            self.task.cancel()

    async def ended(self) -> None:
        await asyncio.wait([self.task])
        error = None if self.task.cancelled() else self.task.exception()
        if error is not None and not self.killed and not _deposed(error):
            self.program.judge.blame(f"{self.name} ended with {error!r}")


def _deposed(error: BaseException) -> bool:
    """Whether a process ended because it lost its lease, as it should."""
    if isinstance(error, BaseExceptionGroup):
        return all(_deposed(each) for each in error.exceptions)
    return isinstance(error, Lost)


@dataclass
class Processes:
    """The replicas of a Deployment: one, or two for a while."""

    program: Program
    wanted: int = 1
    alive: list[Process] = field(default_factory=list)
    _made: int = 0
    _ever: list[Process] = field(default_factory=list)
    _start_at: float = 0.0
    _hung: asyncio.Event | None = None

    async def tick(self, now: float) -> None:
        for process in [each for each in self.alive if each.task.done()]:
            await process.ended()
            self.alive.remove(process)
            self._start_at = now + RESTART
        if len(self.alive) < self.wanted and now >= self._start_at:
            self._made += 1
            process = Process(self._made, self.program)
            self.program.transcript.say("kubelet", f"{process.name} starts")
            process.weather.hung = self._hung
            self.alive.append(process)
            self._ever.append(process)

    @property
    def leading(self) -> bool:
        """Whether the lease is held by somebody who lives."""
        lease = self.program.kube.find(kinds.LEASE, self.program.lease) or {"spec": {}}
        return lease["spec"].get("holderIdentity") in {
            each.name for each in self.alive if not each.killed
        }

    @property
    def well(self) -> bool:
        """Whether somebody leads, and nothing keeps anybody from what he does."""
        return self.leading and all(each.weather.fair for each in self.alive)

    def hang(self) -> None:
        """slurmrestd takes requests and does not answer."""
        self._hung = asyncio.Event()
        for process in self.alive:
            process.weather.hung = self._hung

    def unhang(self) -> None:
        if self._hung is not None:
            self._hung.set()
        self._hung = None
        for process in self.alive:
            process.weather.hung = None

    async def stop(self) -> None:
        for process in self._ever:
            if process.kube.on_the_way is not None:
                process.kube.on_the_way.cancel()
                await asyncio.wait([process.kube.on_the_way])
        for process in self.alive:
            process.killed = process.kube.dead = process.slurm.dead = True
            process.task.cancel()
            await asyncio.wait([process.task])
