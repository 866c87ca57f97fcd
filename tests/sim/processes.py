"""Operator processes that are started, killed at any write, and started again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, cast

from tests.sim.judge import Judge
from tests.sim.kubelets import DISK_PRESSURE, MAINTENANCE
from tests.sim.links import KubeLink, SlurmLink, Weather
from tests.sim.transcript import Transcript
from windlass.kube import kinds
from windlass.kube.client import Client
from windlass.kube.leader import Lost
from windlass.kube.manager import Settings
from windlass.kube.metrics import Metrics
from windlass.operator.plan import (
    Annotate,
    Apply,
    ChangeNodes,
    Create,
    Delete,
    Finalize,
    ForgetNodes,
    Mark,
    Plan,
    Retire,
    ShowConditions,
    Tell,
)
from windlass.operator.process import Means, Options, operator
from windlass.operator.reconciler import Room
from windlass.operator.rooms import rooms
from windlass.operator.site import Site
from windlass.operator.slurms.clusters import Clusters
from windlass.operator.slurms.place import Place
from windlass.slurm.transport import Transport
from windlass.testing.virtual import VirtualClock, clock
from windlass.values.key import Key

LEASE: Final = Key("hpc", "windlass-operator")
RESTART: Final = 3.0
"""How long kubelet takes to start a process again."""
SITE: Final = Site(drain_node_conditions=(DISK_PRESSURE,), drain_node_taints=(MAINTENANCE,))
UNSPOKEN: Final = (Apply, Annotate, Finalize, Mark, ShowConditions)


@dataclass
class Process:
    number: int
    judge: Judge
    transcript: Transcript
    rng: Random
    time: VirtualClock

    def __post_init__(self) -> None:
        self.name = f"operator-{self.number}"
        self.weather = Weather(self.rng, self.kill)
        judge = self.judge
        self.kube = KubeLink(self.name, judge.kube, judge, self.weather)
        self.slurm = SlurmLink(self.name, judge.slurm, judge, self.weather)
        self.task = asyncio.create_task(self._run(), name=self.name)
        self.killed = False

    def kill(self) -> None:
        """At once, whatever it is doing: nothing that it would still send arrives."""
        if not self.killed:
            self.killed = self.kube.dead = self.slurm.dead = True
            self.transcript.say("fault", f"{self.name} is killed")
            self.task.cancel()

    async def ended(self) -> None:
        await asyncio.wait([self.task])
        error = None if self.task.cancelled() else self.task.exception()
        if error is not None and not self.killed and not _deposed(error):
            self.judge.blame(f"{self.name} ended with {error!r}")

    async def _run(self) -> None:
        clusters = Clusters(self.time, self._dial)
        means = Means(cast(Client, self.kube), Metrics(), clock, self._wall)
        settings = Settings(host="127.0.0.1", port=0)
        options = Options(identity=self.name, lease=LEASE, settings=settings)
        async with rooms(SITE, clusters.seen) as known:
            chosen = [self._heard(room) for room in known if room.kind == kinds.NODE_SET]
            await operator(means, chosen, clusters, options).run()

    def _wall(self) -> datetime:
        return datetime.fromtimestamp(self.time.now(), UTC)

    def _dial(self, _: Place) -> AbstractAsyncContextManager[Transport]:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Transport]:
            yield self.slurm

        return opened()

    def _heard(self, room: Room[Any]) -> Room[Any]:
        """The same room, whose decisions stand in the transcript."""
        decide: Callable[[Any, datetime], Plan] = room.plan

        def plan(observed: Any, now: datetime) -> Plan:
            decided = decide(observed, now)
            for step in decided.steps:
                if not isinstance(step, UNSPOKEN):
                    self.transcript.say(self.name, spelled(step))
            return decided

        return replace(room, plan=plan)


def spelled(step: Any) -> str:
    """What is decided and why."""
    match step:
        case Tell(_, reason):
            return f"says {reason}"
        case Create(kind, body):
            return f"makes {kind.kind} {body['metadata']['name']}"
        case Delete(kind, key):
            done = f"deletes {kind.kind} {key.name}"
        case Retire(pods):
            done = f"retires {', '.join(pod.key.name for pod in pods)}"
        case ChangeNodes(names, update):
            done = f"sets {', '.join(names)} to {update.state}"
        case ForgetNodes(names):
            done = f"forgets {', '.join(names)}"
        case _:
            done = type(step).__name__.lower()
    return f"{done}: {step.reason}"


def _deposed(error: BaseException) -> bool:
    """Whether a process ended because it lost its lease, as it should."""
    if isinstance(error, BaseExceptionGroup):
        return all(_deposed(each) for each in error.exceptions)
    return isinstance(error, Lost)


@dataclass
class Processes:
    """The replicas of the operator's Deployment: one, or two for a while."""

    judge: Judge
    transcript: Transcript
    rng: Random
    time: VirtualClock
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
            self.transcript.say("kubelet", f"operator-{self._made} starts")
            process = Process(self._made, self.judge, self.transcript, self.rng, self.time)
            process.weather.hung = self._hung
            self.alive.append(process)
            self._ever.append(process)

    @property
    def leading(self) -> bool:
        """Whether the lease is held by somebody who lives."""
        lease = self.judge.kube.find(kinds.LEASE, LEASE) or {"spec": {}}
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
