"""The working parts of a bridge, put together: copies, Slurm, queues and their workers."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from windlass.bridge import words
from windlass.bridge.ends import Cancels, Ends
from windlass.bridge.executor import Executor, Records, Telling
from windlass.bridge.gang import GangKey
from windlass.bridge.link import Link
from windlass.bridge.node_plan import NodeRules
from windlass.bridge.node_room import KEY, NodeRoom
from windlass.bridge.node_room import Means as NodeMeans
from windlass.bridge.observe import Means, Observer, Rules
from windlass.bridge.reconciler import Reconciler
from windlass.bridge.waking import wire
from windlass.bridge.world import OPTIONAL, World, watches
from windlass.kube.controller import Controller, Pace
from windlass.kube.kinds import Kind
from windlass.kube.metrics import Metrics
from windlass.kube.parts import Working
from windlass.kube.queue import Monotonic, Queue
from windlass.kube.reflector import Mirror, Talks
from windlass.kube.requests import Sends

GANGS: Final = "gangs"
ALONE: Final = Pace(workers=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """How a bridge works."""

    rules: Rules
    scheduler: str = words.SCHEDULER
    served: tuple[Kind, ...] = OPTIONAL
    """Of the kinds that are optional those that the API server has."""
    conditions: tuple[str, ...] = ()
    """Conditions of nodes that drain them."""
    workers: int = 16
    ends: Callable[[Link], Ends] = Cancels


@dataclass(frozen=True, slots=True)
class Hands:
    """Who reads, who writes, who tells."""

    reads: Talks
    writes: Sends
    records: Records


@dataclass(frozen=True, slots=True)
class Gauges:
    """Time that goes on while a machine sleeps, time on the wall, and who counts."""

    monotonic: Monotonic
    wall: Callable[[], datetime]
    metrics: Metrics


class Engine:
    """What is read is in `mirror` and `link`; `working` may run once both do."""

    def __init__(self, hands: Hands, link: Link, design: Design, gauges: Gauges) -> None:
        watched = watches(design.scheduler, design.served)
        self.mirror = Mirror(hands.reads, watched)
        world = World(self.mirror, watched)
        observer = Observer(world, link, design.rules, Means(hands.reads, gauges.wall))
        telling = Telling(hands.records, gauges.wall, observer.seats)
        executor = Executor(hands.writes, link, design.ends(link), telling)
        observer.ledger.on_ports = executor.reservations.shown
        means = NodeMeans(hands.writes, observer.feasible, observer.ledger, gauges.wall)
        room = NodeRoom(world, link, _node_rules(design), means)
        gangs = Queue[GangKey](gauges.monotonic, meter=gauges.metrics.queue(GANGS))
        nodes = Queue[str](gauges.monotonic, meter=gauges.metrics.queue(KEY))
        wire(world, link, gangs, observer, lambda: nodes.add(KEY))
        reconciler = Reconciler(observer, executor)
        workers = Pace(workers=design.workers)
        meter = gauges.metrics.controller
        self.working = (
            Working(Controller(KEY, room.reconcile, nodes, pace=ALONE, meter=meter(KEY)), nodes),
            Working(
                Controller(GANGS, reconciler.reconcile, gangs, pace=workers, meter=meter(GANGS)),
                gangs,
            ),
        )


def _node_rules(design: Design) -> NodeRules:
    rules = design.rules
    return NodeRules(
        cluster=rules.settings.cluster,
        devices=rules.devices,
        conditions=design.conditions,
        taint=design.scheduler if rules.taint_nodes else "",
        partition=rules.settings.partition,
    )
