"""The bridge as one process: it watches, and while it leads it submits, binds and ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from windlass.bridge.engine import Design, Engine, Gauges, Hands
from windlass.bridge.link import Link
from windlass.kube.client import Client
from windlass.kube.event_sink import ClientSink
from windlass.kube.events import Planner, Recorder, Reporter
from windlass.kube.guard import Guarded
from windlass.kube.leader import Elector, Terms
from windlass.kube.leases import ClientLeases
from windlass.kube.manager import Manager, Settings
from windlass.kube.metrics import Metrics
from windlass.kube.parts import Elected, Part
from windlass.kube.queue import Monotonic
from windlass.values.key import Key

NAME: Final = "windlass-bridge"


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How one process works."""

    identity: str
    lease: Key
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True)
class Means:
    """What a process works with: time that goes on while a machine sleeps, and time on the wall."""

    client: Client
    metrics: Metrics
    monotonic: Monotonic
    wall: Callable[[], datetime]


def bridge(means: Means, link: Link, design: Design, options: Options) -> Manager:
    """The process, ready to run."""
    client, metrics = means.client, means.metrics
    terms = Terms(identity=options.identity)
    elector = Elector(ClientLeases(client, options.lease), terms, means.monotonic, means.wall)
    metrics.watch_leading(lambda: elector.leading)
    guarded = Guarded(client, elector.check)
    link.guard(elector.check)
    reporter = Reporter(NAME, options.identity)
    recorder = Recorder(Planner(reporter), ClientSink(guarded), means.wall, metrics.count_event)
    gauges = Gauges(means.monotonic, means.wall, metrics)
    engine = Engine(Hands(client, guarded, recorder), link, design, gauges)
    led = [
        Part("events", recorder.run, recorder.flush),
        Part("slurm", link.run),
        *engine.working,
    ]
    parts = [Part("mirror", engine.mirror.run), Elected(elector, led, means.monotonic)]
    return Manager(parts, means.monotonic, metrics, options.settings)
