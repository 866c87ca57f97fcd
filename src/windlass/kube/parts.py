"""What a process is made of: parts that start in order, stop in reverse, and never outlive it.

Every task has a parent here. A part that fails, or ends though nobody asked it to, ends the whole
tree with an error: a process that lost a limb is better restarted than half alive.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Generic, TypeVar

from windlass.kube.controller import Controller
from windlass.kube.leader import Elector
from windlass.kube.queue import Monotonic, Queue

K = TypeVar("K", bound=Hashable)
Started = Callable[[], None]

log = logging.getLogger(__name__)


class Ended(Exception):
    """A part came to an end that nobody asked for."""


async def _nothing() -> None:
    """Most parts leave nothing undone."""


class Part:
    """Something that runs as long as the process does; `flush` is its last work at a stop."""

    def __init__(
        self,
        name: str,
        body: Callable[[Started], Awaitable[None]],
        flush: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self.name = name
        self._body = body
        self._flush = flush

    async def run(self, started: Started) -> None:
        """Do the work; call `started` once others may rely on it."""
        await self._body(started)

    async def stop(self, within: float) -> bool:  # noqa: ARG002 - for parts that take their time
        """Begin to end in order; False where cancelling is all there is left to do."""
        await self._flush()
        return False

    def ailment(self) -> str | None:
        """What is wrong, where only a restart helps."""
        return None


class Working(Part, Generic[K]):
    """A controller; its queue is drained before it ends."""

    def __init__(self, controller: Controller[K], queue: Queue[K]) -> None:
        super().__init__(controller.name, self._work)
        self._controller = controller
        self._queue = queue

    async def _work(self, started: Started) -> None:
        started()
        await self._controller.run()

    async def stop(self, within: float) -> bool:
        left = await self._queue.drain(within)
        if left:
            log.warning("stopped %s with %d keys undone", self.name, len(left))
        return not left

    def ailment(self) -> str | None:
        stuck = self._controller.stuck()
        if stuck is None:
            return None
        return f"{self.name}: the pass of {stuck.key} is stuck since {stuck.seconds:.0f} s"


class Tree(Part):
    """Parts in an order: each may rely on those before it."""

    def __init__(self, name: str, parts: Sequence[Part], clock: Monotonic) -> None:
        super().__init__(name, self._grow)
        self._parts = parts
        self._clock = clock
        self._running: list[tuple[Part, asyncio.Task[None]]] = []
        self._awaited: str | None = None
        self._gate = asyncio.Event()
        self._stopping = False

    @property
    def awaited(self) -> str | None:
        """The part that everybody waits for; None once all have started."""
        return self._awaited

    async def _grow(self, started: Started) -> None:
        async with asyncio.TaskGroup() as tasks:
            for part in self._parts:
                if not self._stopping:
                    self._awaited = part.name
                    await self._start(part, tasks)
            self._awaited = None
            started()

    async def _start(self, part: Part, tasks: asyncio.TaskGroup) -> None:
        """The gate opens when the part has started or ended, or all have to stop."""
        gate = self._gate = asyncio.Event()
        task = tasks.create_task(self._run(part, gate.set), name=part.name)
        task.add_done_callback(lambda _: gate.set())
        self._running.append((part, task))
        await gate.wait()
        if not self._stopping:
            log.info("started %s", part.name)

    async def _run(self, part: Part, started: Started) -> None:
        await part.run(started)
        if not self._stopping:
            raise Ended(f"{part.name} ended though nobody asked it to")

    async def stop(self, within: float) -> bool:
        """End the parts, the last first; what does not end in time is cancelled."""
        self._stopping = True
        self._gate.set()
        deadline = self._clock() + within
        while self._running:
            await self._end(*self._running.pop(), deadline)
        return True

    async def _end(self, part: Part, task: asyncio.Task[None], deadline: float) -> None:
        left = max(0.0, deadline - self._clock())
        try:
            async with asyncio.timeout(left):
                if await part.stop(left):
                    await asyncio.wait([task])
        except TimeoutError:
            log.warning("%s did not end in time and is cancelled", part.name)
        task.cancel()
        await asyncio.wait([task])
        log.info("stopped %s", part.name)

    def ailment(self) -> str | None:
        found = (part.ailment() for part, _ in self._running)
        return next((ailment for ailment in found if ailment), None)


class Elected(Part):
    """Parts that run only while this process leads; one that waits its turn counts as started.

    Losing the lease ends the process with an error: what was begun as a leader cannot be trusted
    to go on as anything else.
    """

    def __init__(self, elector: Elector, parts: Sequence[Part], clock: Monotonic) -> None:
        super().__init__("elected", self._stand)
        self._elector = elector
        self._tree = Tree("leader", parts, clock)

    async def _stand(self, started: Started) -> None:
        started()
        await self._elector.run(lambda: self._tree.run(lambda: None))

    async def stop(self, within: float) -> bool:
        """A leader ends its parts, then lets the lease go; others have nothing to end."""
        return self._elector.leading and await self._tree.stop(within)

    def ailment(self) -> str | None:
        return self._tree.ailment()
