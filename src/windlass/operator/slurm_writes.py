"""Actions on Slurm, carried out."""

from asyncio import gather
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeAlias, TypeVar

from windlass.operator.plan import ChangeNodes, ForgetNodes, RequeueJobs, Reserve, Unreserve
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.worker import UNANSWERED, ours
from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.errors import Absent, SlurmError, Unavailable
from windlass.slurm.model import Node
from windlass.slurm.writes import NodeWriter
from windlass.values.hostlist import fold
from windlass.values.key import Key
from windlass.values.malformed import Malformed

R = TypeVar("R")
IN_A_URL: Final = 500
"""Names whose hostlist is not too long for an address, even if none follows another."""
FEW: Final = 16

SlurmStep: TypeAlias = ChangeNodes | ForgetNodes | Reserve | Unreserve | RequeueJobs


class Slurms(Protocol):
    """Every Slurm, by the key of its Controller."""

    async def send(self, at: Key, request: Request[R]) -> R: ...

    async def fresh(self, at: Key) -> Seen | None: ...


@dataclass(frozen=True, slots=True)
class _One:
    slurms: Slurms
    at: Key

    async def send(self, request: Request[R]) -> R:
        return await self.slurms.send(self.at, request)


class SlurmWrites:
    def __init__(self, slurms: Slurms) -> None:
        self._slurms = slurms

    async def fresh(self, at: Key) -> Seen | None:
        return await self._slurms.fresh(at)

    async def do(self, at: Key, step: SlurmStep) -> SlurmStep | None:
        """What was done of it: somebody may have been faster with some, or with all."""
        match step:
            case ChangeNodes():
                return await self._change(at, step)
            case ForgetNodes(names, _, whoever):
                left = names if whoever else await self._left_to_us(at, names, _is_nobodys)
                await self._forget(at, left)
                return replace(step, names=left) if left else None
            case Reserve(spec):
                await self._slurms.send(at, requests.write_reservation(spec))
            case Unreserve(name):
                with suppress(Absent):
                    await self._slurms.send(at, requests.delete_reservation(name))
            case RequeueJobs(jobs):
                await self._slurms.send(at, requests.requeue_jobs(jobs))
        return step

    async def _change(self, at: Key, step: ChangeNodes) -> ChangeNodes | None:
        """A node that is gone needs no change: the mirror will show it."""
        names = step.names
        if step.update.state is not None:
            names = await self._left_to_us(at, names, _rule(step))
        if not names:
            return None
        failed = await NodeWriter(_One(self._slurms, at)).change(names, step.update)
        for error in failed.values():
            if not isinstance(error, Absent):
                raise error
        return replace(step, names=names)

    async def _left_to_us(
        self, at: Key, names: tuple[str, ...], rule: Callable[[Node], bool]
    ) -> tuple[str, ...]:
        """Those of which the rule still holds: an administrator may have been faster than what we
        saw of Slurm."""
        known = await self._look(at, names)
        return tuple(name for name in names if name in known and rule(known[name]))

    async def _look(self, at: Key, names: tuple[str, ...]) -> Mapping[str, Node]:
        """What Slurm says now: of a few one by one, since a list of all may take it a while."""
        if len(names) <= FEW:
            asked = [self._node(at, name) for name in names]
            return {node.name: node for node in await gather(*asked) if node}
        seen = await self._slurms.fresh(at)
        if seen is None:
            raise Unavailable("it did not say whose its nodes are by now: they stay as they are")
        return seen.nodes

    async def _node(self, at: Key, name: str) -> Node | None:
        try:
            return await self._slurms.send(at, requests.node(name))
        except Absent:
            return None

    async def _forget(self, at: Key, names: tuple[str, ...]) -> None:
        """Few calls for many; Slurm refuses one as a whole if it cannot let go of one node, such as
        a busy one, but all others of it are gone then."""
        refused: SlurmError | None = None
        for those in hostlists(names):
            try:
                await self._slurms.send(at, requests.delete_node(those))
            except Absent:
                continue
            except SlurmError as error:
                refused = error
        if refused is not None:
            raise refused


def hostlists(names: Sequence[str]) -> Iterator[str]:
    """The names in as few hostlists as a URL each can carry."""
    for start in range(0, len(names), IN_A_URL):
        those = sorted(names[start : start + IN_A_URL], key=lambda name: (len(name), name))
        try:
            yield fold(those)
        except Malformed:  # no node has such a name, and Slurm shall say so
            yield from those


def _rule(step: ChangeNodes) -> Callable[[Node], bool]:
    if step.update.state != "DRAIN":
        return _is_ours
    return _takes_a_drain_and_is_idle if step.if_idle else _takes_a_drain


def _is_ours(node: Node) -> bool:
    return ours(node.reason)


def _takes_a_drain(node: Node) -> bool:
    """A drain without a reason is somebody else's."""
    return ours(node.reason) or not (node.reason or node.state.drain)


def _takes_a_drain_and_is_idle(node: Node) -> bool:
    return _takes_a_drain(node) and not node.state.busy


def _is_nobodys(node: Node) -> bool:
    """Slurm gives a reason of its own to a node that it sets down."""
    return ours(node.reason) or node.reason in ("", UNANSWERED)
