"""The operator as one process: rooms, their queues and workers, elected as one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from windlass.kube import kinds
from windlass.kube.bearers import Bearers
from windlass.kube.client import Client
from windlass.kube.controller import Controller, Pace
from windlass.kube.event_sink import ClientSink
from windlass.kube.events import Planner, Recorder, Reporter
from windlass.kube.exposing import Endpoint, SecureMetrics
from windlass.kube.guard import Guarded
from windlass.kube.kinds import Kind
from windlass.kube.leader import Elector, Terms
from windlass.kube.leases import ClientLeases
from windlass.kube.manager import Manager, Settings
from windlass.kube.metrics import Metrics
from windlass.kube.parts import Elected, Part, Working
from windlass.kube.queue import Monotonic, Queue
from windlass.kube.reflector import Mirror
from windlass.operator.executor import Executor
from windlass.operator.reconciler import Reconciler, Room
from windlass.operator.slurms import clusters as slurms
from windlass.operator.slurms.clusters import Clusters
from windlass.operator.waking import wire
from windlass.operator.world import World, watches
from windlass.values.key import Key

NAME: Final = "windlass-operator"


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How one process works."""

    identity: str
    lease: Key
    namespaces: Sequence[str] = ()
    monitors: bool = False
    """Whether the Prometheus operator's kinds are installed."""
    workers: Mapping[Kind, int] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    secure_metrics: Endpoint | None = None
    """Where metrics are told to whom Kubernetes lets GET them; None: beside health, to all."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a process works with: time that goes on while a machine sleeps, and time on the wall."""

    client: Client
    metrics: Metrics
    monotonic: Monotonic
    wall: Callable[[], datetime]


def operator(
    means: Means, rooms: Sequence[Room[Any]], clusters: Clusters, options: Options
) -> Manager:
    """The process, ready to run; `clusters` is what the rooms know of Slurm."""
    client, metrics = means.client, means.metrics
    terms = Terms(identity=options.identity)
    elector = Elector(ClientLeases(client, options.lease), terms, means.monotonic, means.wall)
    metrics.watch_leading(lambda: elector.leading)
    guarded = Guarded(client, elector.check)
    watched = watches(options.namespaces, monitors=options.monitors)
    mirror = Mirror(client, watched)
    world = World(client, mirror, watched)
    reporter = Reporter(NAME, options.identity)
    recorder = Recorder(Planner(reporter), ClientSink(guarded), means.wall, metrics.count_event)
    clusters.guard(elector.check)
    executor = Executor(guarded, world, recorder, clusters)
    executor.follow(world.pod_stores())
    reconcilers = [Reconciler(room, world, executor, means.wall) for room in rooms]
    queues = _queues(means, reconcilers)
    wire(world, queues)
    clusters.wire(world, means.monotonic, queues[kinds.NODE_SET].add)
    led = [
        Part("events", recorder.run, recorder.flush),
        Part(slurms.NAME, clusters.run),
        *_working(means, reconcilers, queues, options),
    ]
    elected = Elected(elector, led, means.monotonic)
    parts = [
        *metrics_parts(means, options.secure_metrics),
        Part("mirror", mirror.run),
        elected,
    ]
    return Manager(parts, means.monotonic, metrics, options.settings)


def metrics_parts(means: Means, endpoint: Endpoint | None) -> list[Part]:
    """The server of metrics where it is not the one of health."""
    if endpoint is None:
        return []
    bearers = Bearers(means.client, means.monotonic)
    return [Part("metrics", SecureMetrics(means.metrics, bearers, endpoint, means.wall).run)]


def _queues(means: Means, reconcilers: Sequence[Reconciler[Any]]) -> dict[Kind, Queue[Key]]:
    return {
        each.kind: Queue[Key](means.monotonic, meter=means.metrics.queue(each.kind.plural))
        for each in reconcilers
    }


def _working(
    means: Means,
    reconcilers: Sequence[Reconciler[Any]],
    queues: Mapping[Kind, Queue[Key]],
    options: Options,
) -> list[Part]:
    """Workers over the queue of each room."""
    return [
        Working(
            Controller(
                each.kind.plural,
                each.reconcile,
                queues[each.kind],
                pace=Pace(workers=options.workers.get(each.kind, 4)),
                meter=means.metrics.controller(each.kind.plural),
            ),
            queues[each.kind],
        )
        for each in reconcilers
    ]
