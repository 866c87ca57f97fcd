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
    shares = dict(held or {})
    cpus = _cpus(given, threads)
    devices = {(one.name, one.type): bitmap.parse(one.index) for one in given.gres}
    for taken in shares.values():
        cpus &= ~taken.cpus
        _take(devices, taken.devices)
    for member in sorted(members, key=lambda each: each.index):
        if member.index in shares:
            continue
        found = Share(_first(cpus, member.needs.cpus), _devices(devices, member.needs.gres))
        cpus &= ~found.cpus
        _take(devices, found.devices)
        shares[member.index] = found
    return shares


def _cpus(given: NodeAllocation, threads: int) -> int:
    cores = bitmap.indices(bitmap.parse(given.core_bitmap))
    return bitmap.of(core * threads + thread for core in cores for thread in range(threads))


def _first(bits: int, count: int) -> int:
    return bitmap.of(islice(bitmap.indices(bits), count))


def _devices(free: Mapping[tuple[str, str], int], wanted: Sequence[Gres]) -> tuple[Device, ...]:
    left = dict(free)
    found: list[Device] = []
    for want in wanted:
        missing = want.count
        for (name, kind), numbers in left.items():
            if name != want.name or want.type not in ("", kind):
                continue
            some = _first(numbers, missing)
            if some:
                found.append(Device(name, kind, some))
                missing -= bitmap.count(some)
        _take(left, found)
    return tuple(found)


def _take(free: dict[tuple[str, str], int], taken: Sequence[Device]) -> None:
    for device in taken:
        key = device.name, device.type
        free[key] = free.get(key, 0) & ~device.numbers
