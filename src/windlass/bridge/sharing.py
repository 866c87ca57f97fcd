"""Which CPUs and devices of a node go to which of the pods that share a job's place there.

Slurm gives them to the job; among its pods they are divided here, in the order of ranks, and none
goes to two. Whoever has some already keeps them, and what they have is given to nobody else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from windlass.bridge.gang import Member
from windlass.slurm.model import NodeAllocation
from windlass.values import bitmap
from windlass.values.gres import Gres


@dataclass(frozen=True, slots=True)
class Device:
    """Devices of one kind, by their numbers among those of the node."""

    name: str
    type: str
    numbers: int
    """A bitmap."""


@dataclass(frozen=True, slots=True)
class Share:
    cpus: int = 0
    """A bitmap; thread t of Slurm's core c is c times the threads of a core, plus t."""
    devices: tuple[Device, ...] = ()


def share(
    given: NodeAllocation,
    members: Sequence[Member],
    threads: int = 1,
    held: Mapping[int, Share] | None = None,
) -> dict[int, Share]:
    """The share of each member on this node, by index; less than it needs where there is less."""
    kept = held or {}
    cpus = _cpus(given, threads)
    free: dict[tuple[str, str], int] = {}
    for one in given.gres:
        free[one.name, one.type] = free.get((one.name, one.type), 0) | bitmap.parse(one.index)
    for taken in kept.values():
        cpus &= ~taken.cpus
        _take(free, taken.devices)
    new = sorted((each for each in members if each.index not in kept), key=lambda m: m.index)
    devices = _dealt(free, new)
    shares = dict(kept)
    for member in new:
        own = _first(cpus, member.needs.cpus)
        cpus &= ~own
        shares[member.index] = Share(own, devices[member.index])
    return shares


def _dealt(
    free: dict[tuple[str, str], int], members: Sequence[Member]
) -> dict[int, tuple[Device, ...]]:
    """Where any type will do, what is left by those for whom it will not."""
    dealt: dict[int, tuple[Device, ...]] = {member.index: () for member in members}
    wants = [(member.index, one) for member in members for one in member.needs.gres]
    for index, want in sorted(wants, key=lambda each: not each[1].type):
        found = _devices(free, want)
        _take(free, found)
        dealt[index] += found
    return dealt


def _cpus(given: NodeAllocation, threads: int) -> int:
    cores = bitmap.indices(bitmap.parse(given.core_bitmap))
    return bitmap.of(core * threads + thread for core in cores for thread in range(threads))


def _first(bits: int, count: int) -> int:
    return bitmap.of(islice(bitmap.indices(bits), count))


def _devices(free: Mapping[tuple[str, str], int], want: Gres) -> tuple[Device, ...]:
    found: list[Device] = []
    missing = want.count
    for (name, kind), numbers in free.items():
        if name == want.name and want.type in ("", kind):
            some = _first(numbers, missing)
            missing -= bitmap.count(some)
            found += [Device(name, kind, some)] if some else []
    return tuple(found)


def _take(free: dict[tuple[str, str], int], taken: Sequence[Device]) -> None:
    for device in taken:
        key = device.name, device.type
        free[key] = free.get(key, 0) & ~device.numbers
