"""Who has to look when something changes."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from windlass.bridge.feasible import Feasible, lasting, moved
from windlass.bridge.gang import GangKey
from windlass.bridge.holding import Holding
from windlass.bridge.ledger import Ledger
from windlass.bridge.link import Ears, Link
from windlass.bridge.neighbours import Neighbour
from windlass.bridge.observed import job_id
from windlass.bridge.ports import HostPort
from windlass.bridge.world import World
from windlass.kube.objects import Node, Pod
from windlass.kube.queue import Queue

BOUND, SUBMITTED = 2, 1
"""A job that has started holds its place while its pods are not bound, so they go before others.
Whoever may be submitted then has until slurmctld looks again, which it does once a second; they
still go before those that have only come."""


class Watchful(Protocol):
    """Who answers out of what it has kept, and has to be told when that is old."""

    feasible: Feasible
    ledger: Ledger


def wire(
    world: World, link: Link, queue: Queue[GangKey], observer: Watchful, nodes: Callable[[], None]
) -> None:
    """Wake gangs and, with `nodes`, whoever looks after Slurm's nodes."""
    waking, feasible = Waking(world, link, queue), observer.feasible
    observer.ledger.on_free = waking.ports
    observer.ledger.on_standing = nodes
    world.wake = queue.add
    world.nodes.subscribe(waking.host)
    world.namespaces.subscribe(lambda *_: waking.waiting())

    def kube_node(old: Node | None, new: Node | None) -> None:
        if old is None or new is None or _told(old) != _told(new):
            nodes()

    world.nodes.subscribe(kube_node)

    def neighbour(old: Neighbour | None, new: Neighbour | None) -> None:
        if moved(old, new):
            waking.waiting()
            nodes()

    world.others.subscribe(neighbour)
    world.slices.subscribe(lambda *_: nodes())

    def slurm_node(_: str) -> None:
        feasible.slurm_changed()
        waking.waiting()
        nodes()

    def everything() -> None:
        feasible.slurm_changed()
        waking.everything()
        nodes()

    gang = partial(queue.add, priority=BOUND)
    turn = partial(queue.add, priority=SUBMITTED)
    world.pods.subscribe(waking.stray)
    holding = Holding(world, link, queue, BOUND)
    world.pods.subscribe(holding.changed)
    link.listen(Ears(gang, turn, waking.job, slurm_node, everything, holding.calm))


class Waking:
    def __init__(self, world: World, link: Link, queue: Queue[GangKey]) -> None:
        self._world = world
        self._link = link
        self._queue = queue

    def host(self, old: Node | None, new: Node | None) -> None:
        """A node that takes others, or none at all, concerns all that waits; its end, its pods."""
        if old is None or new is None or lasting(old) != lasting(new):
            self.waiting()
        item = new or old
        if item is not None and (new is None or old is None or _ready(old) != _ready(new)):
            for pod in self._world.on(item.metadata.name):
                self._wake(pod)

    def ports(self, given_back: Iterable[HostPort]) -> None:
        for port in given_back:
            for pod in self._world.waiting_for(port[:2]):
                self._wake(pod)

    def waiting(self) -> None:
        """Many nodes change at once: those that wait look when all of them have."""
        for key in self._world.gangs():
            if any(not pod.spec.node_name for pod in self._world.gang(key)):
                self._queue.add_after(key, 1.0)

    def everything(self) -> None:
        for key in sorted({*self._world.gangs(), *self._link.keys()}):
            self._queue.add(key)

    def job(self, number: int) -> None:
        """It concerns all pods that have a place of it."""
        for pod in self._world.of_job(number):
            self._wake(pod)

    def stray(self, old: Pod | None, new: Pod | None) -> None:
        """A pod that left the gang of its job still holds that job."""
        item = new or old
        number = job_id(item) if item is not None else None
        key = None if number is None else self._link.gang_of(number)
        if item is not None and key is not None and key != self._world.gang_of(item):
            self._queue.add(key)

    def _wake(self, pod: Pod) -> None:
        key = self._world.gang_of(pod)
        if key is not None:
            self._queue.add(key)


def _told(node: Node) -> tuple[object, ...]:
    """What of a node Slurm is told; its heartbeats are none of it."""
    conditions = [(each.type, each.status) for each in node.status.conditions or ()]
    meta, status = node.metadata, node.status
    amounts = status.allocatable, status.capacity, status.addresses
    return meta.labels, meta.annotations, node.spec, amounts, conditions


def _ready(node: Node) -> str:
    return next((e.status for e in node.status.conditions or () if e.type == "Ready"), "")
