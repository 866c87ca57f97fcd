"""Writes to nodes, gathered for a moment and sent as few bulk calls.

    update("w-0", drain) ─┐
    update("w-1", drain) ─┼─> one tick ─> POST /nodes/ w-[0-1] ─> each caller gets its own answer
    update("w-2", other) ─┘            └> POST /nodes/ w-2

A bulk call that is refused says neither which node was at fault nor what was done for the others,
so its nodes are then asked for one by one in halves. Slurm carries a refused call out for the nodes
that could change; asking those again may be refused as "no such transition" although they are where
the caller wants them, so every last refusal is held against what the node says of itself.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.errors import Absent, Errno, Refused, SlurmError
from windlass.slurm.model import Node
from windlass.slurm.specs import NodeUpdate
from windlass.values.hostlist import fold
from windlass.values.malformed import Malformed

T = TypeVar("T")


class Sender(Protocol):
    """The client, or whatever stands for it."""

    async def send(self, request: Request[T]) -> T: ...


MALFORMED: Final = frozenset({Errno.ESLURM_DATA_CONV_FAILED, Errno.ESLURM_DATA_PARSE_BAD_INPUT})
"""How slurmrestd says that it cannot read a hostlist: the former up to v0.0.43."""


OF_NO_NODE: Final = frozenset({Errno.ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE})
"""What is refused for what is asked, whichever node it is asked of: so would be the halves."""


# --- What to send, and what the answer means: pure -----------------------------------------


@dataclass(frozen=True, slots=True)
class Batch:
    """One change for several nodes."""

    update: NodeUpdate
    names: tuple[str, ...]


def batches(wanted: Iterable[tuple[str, NodeUpdate]]) -> tuple[list[Batch], list[int]]:
    """Group nodes by equal updates; also, for each that was wanted, the number of its batch.

    A node's own updates keep their order; an update joins the earliest batch that allows it.
    """
    grouped: list[tuple[NodeUpdate, dict[str, None]]] = []
    last: dict[str, int] = {}
    places = []
    for name, update in wanted:
        place = _place(grouped, update, last.get(name, 0))
        if place == len(grouped):
            grouped.append((update, {}))
        grouped[place][1][name] = None
        last[name] = place
        places.append(place)
    return [Batch(update, tuple(names)) for update, names in grouped], places


def _place(
    grouped: list[tuple[NodeUpdate, dict[str, None]]], update: NodeUpdate, first: int
) -> int:
    """The first batch from `first` on that has this update, or a new one."""
    later = range(first, len(grouped))
    return next((index for index in later if grouped[index][0] == update), len(grouped))


def folded(names: tuple[str, ...]) -> tuple[str, ...]:
    """The same nodes as one hostlist: their order is of no matter here."""
    if len(names) < 2:
        return names
    try:
        return (fold(sorted(names, key=lambda name: (len(name), name))),)
    except Malformed:  # no node has such a name, and Slurm shall say so to its caller
        return names


def halves(batch: Batch) -> tuple[Batch, Batch]:
    middle = len(batch.names) // 2
    first, second = batch.names[:middle], batch.names[middle:]
    return Batch(batch.update, first), Batch(batch.update, second)


def already_so(node: Node, update: NodeUpdate) -> bool:
    """Whether a node is where an update wants it, in all that the update names."""
    wanted = {name: getattr(update, name) for name in COMPARED}
    told = (value is None or getattr(node, name) == value for name, value in wanted.items())
    return _in_state(node, update.state) and all(told)


COMPARED = ("reason", "comment", "extra", "features", "gres", "weight", "topology")


def _in_state(node: Node, wanted: str | None) -> bool:
    state = node.state
    match wanted:
        case None:
            return True
        case "DRAIN":
            return state.drain
        case "UNDRAIN":
            return not state.drain
        case "RESUME" | "IDLE":
            return not (state.drain or state.down or state.fail)
        case "DOWN":
            return state.down
        case _:
            return False


# --- Sending -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Waiting:
    name: str
    update: NodeUpdate
    told: asyncio.Future[None]


Tell = Callable[[str, SlurmError | None], None]


def _teller(callers: dict[str, list[asyncio.Future[None]]]) -> Tell:
    def tell(name: str, error: SlurmError | None) -> None:
        for told in callers[name]:
            if told.done():  # the caller gave up
                continue
            if error is None:
                told.set_result(None)
            else:
                told.set_exception(error)

    return tell


@dataclass(slots=True)
class NodeWriter:
    """Gathers updates; `run` sends them until it is cancelled, and needs a parent task."""

    slurm: Sender
    tick: float = 0.02
    """Seconds in which updates are gathered: the most that any caller waits for others."""
    calls: int = field(default=0, init=False)
    _waiting: list[_Waiting] = field(default_factory=list, init=False)
    _woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def update(self, name: str, update: NodeUpdate) -> None:
        """Return once this node is updated; raise what Slurm says of this node otherwise."""
        told = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(name, update, told))
        self._woken.set()
        await told

    async def change(self, names: Iterable[str], update: NodeUpdate) -> dict[str, SlurmError]:
        """Change several nodes alike, now; the answer is what Slurm says of those it did not."""
        failed: dict[str, SlurmError] = {}

        def tell(name: str, error: SlurmError | None) -> None:
            if error is not None:
                failed[name] = error

        await self._sent(Batch(update, tuple(names)), tell)
        return failed

    async def run(self) -> None:
        try:
            while True:
                await self._woken.wait()
                await asyncio.sleep(self.tick)
                self._woken.clear()
                waiting, self._waiting = self._waiting, []
                await self._flushed(waiting)
        finally:
            for each in self._waiting:
                each.told.cancel()

    async def _flushed(self, waiting: list[_Waiting]) -> None:
        made, places = batches((each.name, each.update) for each in waiting)
        try:
            for number, batch in enumerate(made):
                callers: dict[str, list[asyncio.Future[None]]] = {}
                for each, place in zip(waiting, places, strict=True):
                    if place == number:
                        callers.setdefault(each.name, []).append(each.told)
                await self._sent(batch, _teller(callers))
        finally:
            for each in waiting:
                each.told.cancel()

    async def _sent(self, batch: Batch, tell: Tell) -> None:
        try:
            await self._bulk(batch)
        except SlurmError as error:
            if isinstance(error, Refused | Absent) and error.errno not in OF_NO_NODE:
                await self._narrowed(batch, error, tell)
                return
            # Whoever does not answer now will not answer about the halves either.
            for name in batch.names:
                tell(name, error)
        else:
            for name in batch.names:
                tell(name, None)

    async def _bulk(self, batch: Batch) -> None:
        short = folded(batch.names)
        try:
            await self._call(short, batch.update)
        except Refused as error:
            if short == batch.names or error.errno not in MALFORMED:
                raise
            await self._call(batch.names, batch.update)

    async def _call(self, names: tuple[str, ...], update: NodeUpdate) -> None:
        self.calls += 1
        await self.slurm.send(requests.update_nodes(names, update))

    async def _narrowed(self, batch: Batch, error: SlurmError, tell: Tell) -> None:
        if len(batch.names) > 1:
            for half in halves(batch):
                await self._sent(half, tell)
            return
        (name,) = batch.names
        tell(name, await self._verdict(name, batch.update, error))

    async def _verdict(self, name: str, update: NodeUpdate, error: SlurmError) -> SlurmError | None:
        """The refusal of one node, or None if it is where it should be all the same."""
        if isinstance(error, Absent):
            return error
        try:
            node = await self.slurm.send(requests.node(name))
        except SlurmError as failure:
            return failure
        return None if already_so(node, update) else error
