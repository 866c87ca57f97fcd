"""The devices that drivers publish for a node, in the order in which Slurm numbers them. Pure.

Slurm knows devices by their place in a list and cores by theirs; drivers know both by name. A pool
may have several slices, of which only those of the newest generation count, and only when all of
them are there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from windlass.bridge import words
from windlass.bridge.amounts import NANO
from windlass.bridge.order import natural
from windlass.kube.meta import Meta, Part

CPU: Final = "dra.cpu"
EFFICIENT: Final = 3
"""Slurm does not count cores of this type."""
NVIDIA: Final = "gpu.nvidia.com"
_WHOLE: Final = re.compile(r"gpu-[0-9]+")
"""NVIDIA's driver publishes parts of GPUs beside these."""


class Attribute(Part, frozen=True, gc=False):
    number: int | None = msgspec.field(name="int", default=None)


class Published(Part, frozen=True, gc=False):
    name: str = ""
    attributes: dict[str, Attribute] | None = None


class Pool(Part, frozen=True, gc=False):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(Part, frozen=True, gc=False):
    driver: str = ""
    node_name: str = ""
    pool: Pool = Pool()
    devices: list[Published] | None = None


class ResourceSlice(Part, frozen=True, gc=False):
    metadata: Meta
    spec: SliceSpec = SliceSpec()


class DeviceName(NamedTuple):
    driver: str
    pool: str
    name: str


@dataclass(frozen=True, slots=True)
class Inventory:
    """What drivers give on one node."""

    devices: Mapping[str, tuple[DeviceName, ...]] = field(default_factory=dict)
    """By driver, each at the place that is its number in Slurm."""
    cores: tuple[tuple[DeviceName, ...], ...] = ()
    """The CPUs of each core."""

    @property
    def amounts(self) -> dict[str, int]:
        """As if they were extended resources, in billionths."""
        return {words.DEVICE_CLASS + name: len(all_) * NANO for name, all_ in self.devices.items()}

    @property
    def threads(self) -> int:
        """Of the cores that have the fewest; 0 where no driver tells."""
        return min((len(core) for core in self.cores), default=0)

    @property
    def cpus(self) -> tuple[DeviceName, ...]:
        """In Slurm's order: all threads of a core, and then the next."""
        return tuple(cpu for core in self.cores for cpu in core[: self.threads])


NOTHING: Final = Inventory()


def inventory(slices: Iterable[ResourceSlice]) -> Inventory:
    """Of one node."""
    found: dict[str, list[tuple[Published, str]]] = {}
    for each in _current(list(slices)):
        devices = found.setdefault(each.spec.driver, [])
        devices += [(device, each.spec.pool.name) for device in each.spec.devices or ()]
    cores = tuple(_cores(found.pop(CPU, [])))
    ordered = {driver: _ordered(driver, devices) for driver, devices in sorted(found.items())}
    return Inventory({driver: names for driver, names in ordered.items() if names}, cores)


def _current(slices: list[ResourceSlice]) -> Iterator[ResourceSlice]:
    newest: dict[tuple[str, str], int] = {}
    for each in slices:
        at = each.spec.driver, each.spec.pool.name
        newest[at] = max(newest.get(at, 0), each.spec.pool.generation)
    for at, generation in newest.items():
        those = [
            each
            for each in slices
            if (each.spec.driver, each.spec.pool.name, each.spec.pool.generation)
            == (*at, generation)
        ]
        if len(those) >= those[0].spec.pool.resource_slice_count:
            yield from those


def _ordered(driver: str, devices: list[tuple[Published, str]]) -> tuple[DeviceName, ...]:
    if driver == NVIDIA:
        devices = [each for each in devices if _WHOLE.fullmatch(each[0].name)]
    indices = [_number(device, "index") for device, _ in devices]
    if all(index is not None for index in indices):
        devices = [each for _, each in sorted(zip(indices, devices, strict=True), key=_index)]
    else:
        devices = sorted(devices, key=lambda each: natural(each[0].name))
    return tuple(DeviceName(driver, pool, device.name) for device, pool in devices)


def _index(numbered: tuple[int | None, object]) -> int:
    return numbered[0] or 0


def _cores(devices: list[tuple[Published, str]]) -> Iterator[tuple[DeviceName, ...]]:
    cores: dict[tuple[int, int], list[tuple[int, DeviceName]]] = {}
    for device, pool in devices:
        socket, core, cpu = (_number(device, f"{word}ID") for word in ("socket", "core", "cpu"))
        if cpu is None or core is None or _number(device, "coreType") == EFFICIENT:
            continue
        named = DeviceName(CPU, pool, device.name)
        cores.setdefault((socket or 0, core), []).append((cpu, named))
    for at in sorted(cores):
        yield tuple(named for _, named in sorted(cores[at]))


def _number(device: Published, name: str) -> int | None:
    """Names of attributes may be written with their domain."""
    for called, attribute in (device.attributes or {}).items():
        if called.rpartition("/")[2] == name:
            return attribute.number
    return None
