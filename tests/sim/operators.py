"""The operator as a process of a simulation, with its decisions in the transcript."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from tests.sim.kubelets import DISK_PRESSURE, MAINTENANCE
from tests.sim.processes import Process
from windlass.kube import kinds
from windlass.kube.client import Client
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
SITE: Final = Site(drain_node_conditions=(DISK_PRESSURE,), drain_node_taints=(MAINTENANCE,))
UNSPOKEN: Final = (Apply, Annotate, Finalize, Mark, ShowConditions)


@dataclass(frozen=True)
class Operators:
    """Whose processes run by one clock."""

    time: VirtualClock

    async def work(self, process: Process) -> None:
        clusters = Clusters(self.time, _dialling(process))
        means = Means(cast(Client, process.kube), Metrics(), clock, self._wall)
        settings = Settings(host="127.0.0.1", port=0)
        options = Options(identity=process.name, lease=LEASE, settings=settings)
        async with rooms(SITE, clusters.seen) as known:
            chosen = [_heard(room, process) for room in known if room.kind == kinds.NODE_SET]
            await operator(means, chosen, clusters, options).run()

    def _wall(self) -> datetime:
        return datetime.fromtimestamp(self.time.now(), UTC)


def _dialling(process: Process) -> Callable[[Place], AbstractAsyncContextManager[Transport]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Transport]:
        yield process.slurm

    return lambda _: opened()


def _heard(room: Room[Any], process: Process) -> Room[Any]:
    """The same room, whose decisions stand in the transcript."""
    decide: Callable[[Any, datetime], Plan] = room.plan

    def plan(observed: Any, now: datetime) -> Plan:
        decided = decide(observed, now)
        for step in decided.steps:
            if not isinstance(step, UNSPOKEN):
                process.program.transcript.say(process.name, spelled(step))
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
        case ChangeNodes(names, update, _, if_idle):
            done = f"sets {', '.join(names)} to {update.state}{' if idle' if if_idle else ''}"
        case ForgetNodes(names):
            done = f"forgets {', '.join(names)}"
        case _:
            done = type(step).__name__.lower()
    return f"{done}: {step.reason}"
