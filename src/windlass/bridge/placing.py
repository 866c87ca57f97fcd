"""Which pod goes on which of the nodes that Slurm gave: ranks in Slurm's order of nodes.

Pods are spread evenly over the nodes of the job, neighbours in rank side by side, and never more
of them on a node than the job holds there. Whoever has a place keeps it. The answer depends on
nothing but what goes in, so a bridge that starts again comes to the same one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from windlass.bridge.gang import Member
from windlass.bridge.resources import Needs, greatest
from windlass.slurm.model import NodeAllocation
from windlass.values import bitmap
from windlass.values.gres import Gres

ENDLESS: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Room:
    """What a job holds on a node; without a number where Slurm does not count it."""

    cpus: int | None = None
    memory: int | None = None
    gres: tuple[Gres, ...] | None = None

    def times(self, needs: Needs) -> int:
        """How often this fits."""
        counts = [ENDLESS]
        if self.cpus is not None:
            counts.append(self.cpus // needs.cpus)
        if self.memory is not None and needs.memory:
            counts.append(self.memory // needs.memory)
        if self.gres is not None:
            counts += [self._held(one) // one.count for one in needs.gres if one.count]
        return max(0, min(counts))

    def without(self, needs: Needs) -> "Room":
        """What is left beside a pod; less than nothing where it was too large."""
        return Room(
            None if self.cpus is None else self.cpus - needs.cpus,
            None if self.memory is None else self.memory - (needs.memory or 0),
            None if self.gres is None else _taken(self.gres, needs.gres),
        )

    def _held(self, wanted: Gres) -> int:
        held = self.gres or ()
        return sum(one.count for one in held if _serves(one, wanted))


@dataclass(frozen=True, slots=True)
class Place:
    node: str
    """As Slurm calls it."""
    room: Room = Room()


@dataclass(frozen=True, slots=True)
class Placement:
    seats: Mapping[int, str] = field(default_factory=dict)
    """The node of each member, by its index."""
    unplaced: tuple[Member, ...] = ()


def places(
    allocations: Iterable[NodeAllocation], threads: Mapping[str, int] | None = None
) -> tuple[Place, ...]:
    """What Slurm says a job holds, in its order; `threads` are those of each core, by node."""
    return tuple(_place(each, (threads or {}).get(each.node, 1)) for each in allocations)


def place(
    members: Sequence[Member], given: Sequence[Place], bound: Mapping[int, str] | None = None
) -> Placement:
    """A node for every member there is room for; `bound` says who has one, by index."""
    rooms = {each.node: each.room for each in given}
    fresh = _fresh(members, rooms)
    indices = {member.index for member in members}
    kept = {index: node for index, node in (bound or {}).items() if index in indices}
    if all(fresh.seats.get(index) == node for index, node in kept.items()):
        return fresh
    for member in members:
        node = kept.get(member.index, "")
        if node in rooms:
            rooms[node] = rooms[node].without(member.needs)
    rest = _fresh([member for member in members if member.index not in kept], rooms)
    return Placement({**rest.seats, **kept}, rest.unplaced)


# --- without a past -------------------------------------------------------------------------


def _fresh(members: Sequence[Member], rooms: Mapping[str, Room]) -> Placement:
    ranked = sorted(members, key=lambda member: member.index)
    largest = greatest(member.needs for member in ranked)
    most = [room.times(largest) for room in rooms.values()]
    if sum(most) < len(ranked):
        return _squeezed(ranked, dict(rooms))
    seats: dict[int, str] = {}
    left = iter(ranked)
    for node, count in zip(rooms, _evenly(len(ranked), most), strict=True):
        seats |= {next(left).index: node for _ in range(count)}
    return Placement(seats)


def _evenly(total: int, most: Sequence[int]) -> list[int]:
    """As many to each as to the others, up to its most; the first get what does not divide."""
    counts = [0] * len(most)
    open_ = [at for at, bound in enumerate(most) if bound]
    while total and open_:
        share = max(1, total // len(open_))
        for at in open_:
            given = min(share, most[at] - counts[at], total)
            counts[at] += given
            total -= given
        open_ = [at for at in open_ if counts[at] < most[at]]
    return counts


def _squeezed(ranked: Sequence[Member], rooms: dict[str, Room]) -> Placement:
    """There is no room for all were they all as large as the largest: each where it first fits."""
    seats: dict[int, str] = {}
    unplaced = []
    for member in ranked:
        node = next((name for name, room in rooms.items() if room.times(member.needs)), None)
        if node is None:
            unplaced.append(member)
        else:
            seats[member.index] = node
            rooms[node] = rooms[node].without(member.needs)
    return Placement(seats, tuple(unplaced))


# --- room ----------------------------------------------------------------------------------


def _place(given: NodeAllocation, threads: int) -> Place:
    """Slurm writes 0 for memory that it does not keep count of."""
    cpus = bitmap.count(bitmap.parse(given.core_bitmap)) * threads if given.core_bitmap else None
    gres = tuple(Gres(one.name, one.type, one.count) for one in given.gres)
    return Place(given.node, Room(cpus, given.memory or None, gres))


def _serves(held: Gres, wanted: Gres) -> bool:
    return held.name == wanted.name and wanted.type in ("", held.type)


def _taken(held: tuple[Gres, ...], wanted: tuple[Gres, ...]) -> tuple[Gres, ...]:
    left = list(held)
    for want in wanted:
        missing = want.count
        for at, one in enumerate(left):
            if _serves(one, want):
                used = min(missing, one.count)
                left[at] = Gres(one.name, one.type, one.count - used)
                missing -= used
    return tuple(left)
