"""When pods that have their place are held: once nobody waits to be bound, or after a while.

To be bound is what a pod waits for; that it is held until Slurm was told of its end is needed only
at that end. While many start at once the API server has enough to do with those that wait.
"""

import asyncio
from typing import Final, Protocol

from windlass.bridge.gang import GangKey
from windlass.bridge.link import Seen
from windlass.bridge.observed import job_id, unmarked
from windlass.bridge.world import World
from windlass.kube.objects import Pod
from windlass.kube.queue import Queue
from windlass.values.key import Key

WITHIN: Final = 10.0
"""Seconds after which a pod is held before others are bound."""


class Traffic(Protocol):
    """Who knows what is under way."""

    @property
    def busy(self) -> bool: ...

    def seen(self) -> Seen | None: ...


class Holding:
    def __init__(
        self, world: World, traffic: Traffic, queue: Queue[GangKey], priority: int
    ) -> None:
        self._world = world
        self._traffic = traffic
        self._queue = queue
        self._priority = priority
        """Of those that are held late."""
        self._unheld: dict[Key, None] = {}

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        """A pod has come to its place, or is no longer to be held."""
        item = new or old
        if item is None:
            return
        at = item.metadata.key
        if new is None or not unmarked(new):
            self._unheld.pop(at, None)
        elif old is None or not unmarked(old):
            self._unheld[at] = None
            asyncio.get_running_loop().call_later(WITHIN, self._late, at)
            if not self._traffic.busy or not self._runs(new):
                self._wake(at)

    def calm(self) -> None:
        """Nobody waits to be bound."""
        for at in self._unheld:
            self._wake(at)

    def _late(self, at: Key) -> None:
        if at in self._unheld:
            self._wake(at, self._priority)

    def _runs(self, pod: Pod) -> bool:
        """Whether its job does, as far as we know; one whose job is over has to be looked at."""
        number, seen = job_id(pod), self._traffic.seen()
        job = None if seen is None or number is None else seen.job(number)
        return job is not None and job.state.running

    def _wake(self, at: Key, priority: int = 0) -> None:
        pod = self._world.pods.get(at)
        key = None if pod is None else self._world.gang_of(pod)
        if key is not None:
            self._queue.add(key, priority=priority)
