"""Who has to look when something changes."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Protocol

from windlass.bridge.feasible import Feasible, lasting, moved
from windlass.bridge.gang import GangKey
from windlass.bridge.ledger import Ledger
from windlass.bridge.link import Ears, Link
from windlass.bridge.neighbours import Neighbour
from windlass.bridge.phases.mark import unmarked
from windlass.bridge.ports import HostPort
from windlass.bridge.world import World, job_id
from windlass.kube.objects import Node, Pod
from windlass.kube.queue import Queue
from windlass.values.key import Key

BOUND, SUBMITTED = 1, 2
"""A job that has started holds its place while its pods are not bound, so they go before others;
before even those whoever may be submitted, which is soon done: slurmctld looks once a second."""
HELD_WITHIN: Final = 10.0
"""Seconds after which a pod that is bound is held before others are bound."""


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
    world.pods.subscribe(waking.unheld)
    link.listen(Ears(gang, turn, waking.job, slurm_node, everything))


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

    def unheld(self, old: Pod | None, new: Pod | None) -> None:
        """A pod that was just bound is held when there is time for it, and at last in any case."""
        if new is not None and unmarked(new) and not (old is not None and unmarked(old)):
            loop = asyncio.get_running_loop()
            loop.call_later(HELD_WITHIN, self._hold, new.metadata.key)

    def _hold(self, at: Key) -> None:
        pod = self._world.pods.get(at)
        key = self._world.gang_of(pod) if pod is not None and unmarked(pod) else None
        if key is not None:
            self._queue.add(key, priority=BOUND)

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
