"""All Slurms that the operator follows, as Controllers, RestApis and keys come and go.

A pass never waits for Slurm: it asks `seen`, which answers at once, and with None where nothing is
known. What changes in Slurm wakes the NodeSets concerned.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import msgspec

from windlass.api.controller import Controller as ControllerResource
from windlass.kube import kinds
from windlass.kube.controller import Controller, Pace, Requeue, Terminal
from windlass.kube.meta import Object
from windlass.kube.parts import Started
from windlass.kube.queue import Monotonic, Queue
from windlass.operator.slurms.link import Dial, Ears, Link, dial
from windlass.operator.slurms.place import Found, find
from windlass.operator.slurms.seen import Seen
from windlass.operator.waking import asked_anew
from windlass.operator.workers.belonging import owner
from windlass.operator.world import World, served_by
from windlass.slurm.call import Request
from windlass.slurm.errors import Unavailable
from windlass.values.clock import Clock
from windlass.values.key import Key

R = TypeVar("R")
NAME: Final = "slurms"
SHOWN_BY: Final = (kinds.CONTROLLER, kinds.REST_API, kinds.ACCOUNTING)

log = logging.getLogger(__name__)


def _always() -> None:
    """Whoever is not elected may write."""


class Clusters:
    """Made before the world is there, so that rooms can be given `seen`; `wire` comes next."""

    def __init__(self, clock: Clock, dial: Dial = dial) -> None:
        self._clock = clock
        self._dial = dial
        self._check: Callable[[], None] = _always
        self._links: dict[Key, tuple[Link, asyncio.Task[None]]] = {}

    def seen(self, controller: ControllerResource) -> Seen | None:
        """What is known of its Slurm; None where Slurm did not answer."""
        found = self._links.get(controller.metadata.key)
        return found[0].seen() if found else None

    async def fresh(self, at: Key) -> Seen | None:
        """The same, asked for at this moment."""
        found = self._links.get(at)
        return await found[0].fresh() if found else None

    async def send(self, at: Key, request: Request[R]) -> R:
        """Carry a request to the Slurm of a Controller, while this process may write."""
        found = self._links.get(at)
        if found is None:
            raise Unavailable(f"Controller {at.name} has no RestApi that is followed")
        self._check()
        return await found[0].send(request)

    def guard(self, check: Callable[[], None]) -> None:
        """Ask `check`, such as an elector's, right before each write."""
        self._check = check

    def wire(self, world: World, monotonic: Monotonic, wake: Callable[[Key], None]) -> None:
        """Find Slurms by what the world shows; `wake` is called with the keys of NodeSets."""
        self._world = world
        self._wake = wake
        self._queue = Queue[Key](monotonic)
        for kind in SHOWN_BY:
            for store in world.stores(kind):
                store.subscribe(self._shown)
        for content in world.content_stores(kinds.SECRET):
            content.subscribe(self._content)

    async def run(self, started: Started) -> None:
        """Follow them until cancelled. A task of each is a child of this one."""
        async with asyncio.TaskGroup() as tasks:
            started()
            looking = Controller(
                NAME, partial(self._look, tasks), self._queue, pace=Pace(workers=1)
            )
            await looking.run()

    # --- where they are ----------------------------------------------------------------------

    def _shown(self, old: Object | None, new: Object | None) -> None:
        if old is None or new is None or asked_anew(old, new):
            self._content(old, new)

    def _content(self, old: Object | None, new: Object | None) -> None:
        item = new or old
        if item is not None:
            self._wake_controllers(item.metadata.namespace)

    def _wake_controllers(self, namespace: str) -> None:
        """All of them: there are few, and a look that finds nothing new costs nothing."""
        stores = self._world.stores(kinds.CONTROLLER, namespace)
        shown = {item.metadata.key for store in stores for item in store}
        for key in shown | self._links.keys():
            if key.namespace == namespace:
                self._queue.add(key)

    async def _look(self, tasks: asyncio.TaskGroup, at: Key) -> Requeue:
        try:
            found = await find(self._world, at)
        except msgspec.ValidationError as error:
            raise Terminal(f"cannot be read: {error}") from error
        link = self._links[at][0] if at in self._links else None
        if link is not None and found is not None and link.place == found.place:
            link.sign_with(found.key)
            return Requeue.never()
        await self._leave(at)
        if found is not None:
            self._follow(tasks, at, found)
        return Requeue.never()

    def _follow(self, tasks: asyncio.TaskGroup, at: Key, found: Found) -> None:
        ears = Ears(partial(self._node_changed, at), partial(self._all_changed, at))
        link = Link(at, found, ears, self._clock)
        task = tasks.create_task(link.run(self._dial), name=f"Slurm of {at}")
        self._links[at] = (link, task)

    async def _leave(self, at: Key) -> None:
        if at in self._links:
            link, task = self._links.pop(at)
            log.info("the Slurm of %s is no longer at %s", at, link.place.url)
            task.cancel()
            await asyncio.wait([task])

    # --- who has to look ----------------------------------------------------------------------

    def _node_changed(self, at: Key, name: str) -> None:
        pods = self._world.workers(at, name)
        for pod in pods:
            for _, key in served_by(pod):
                self._wake(key)
        if not pods:
            self._left_behind(at, name)

    def _left_behind(self, at: Key, name: str) -> None:
        """A node whose worker is gone concerns the set that it belonged to."""
        seen = self._links[at][0].seen() if at in self._links else None
        node = seen.nodes.get(name) if seen else None
        whose = owner(node) if node else None
        if whose is not None and whose.namespace == at.namespace:
            self._wake(Key(whose.namespace, whose.name))

    def _all_changed(self, at: Key) -> None:
        for each in self._world.referring(kinds.NODE_SET, (kinds.CONTROLLER, at)):
            self._wake(each.metadata.key)
