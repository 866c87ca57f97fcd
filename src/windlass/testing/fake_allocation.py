"""Which nodes a job of the fake Slurm gets and what of each: as much of select/cons_tres as bridged
jobs ask for. tests/contract/test_bridge_jobs.py holds it against the real one.

Nodes are taken in their order, as few as do, or as many as a job names at most. Tasks are put on
the first node until that is full, and every node has one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from msgspec import Struct, field

from windlass.slurm import wire
from windlass.values import bitmap, gres
from windlass.values.gres import Gres
from windlass.values.hostlist import expand


class Held(Struct, frozen=True):
    """What a job has of a node; both of the bitmaps' kind count from 0."""

    cpus: int
    cores: int = 0
    memory: int = 0
    devices: tuple[tuple[str, str, int], ...] = ()
    """Name, type, bitmap."""


class FakeJob(wire.WireJob, gc=False):
    """A job, with what slurmrestd does not tell of it."""

    max_nodes: int = 0
    tasks_per_node: int = 0
    tres_per_task: str = ""
    exclusive: bool = False
    begins_at: int = 0
    held: dict[str, Held] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Free:
    """What nobody has of a node."""

    node: wire.WireNode
    cores: int
    memory: int
    devices: tuple[tuple[str, str, int], ...]

    @property
    def threads(self) -> int:
        return self.node.threads or 1

    @property
    def idle(self) -> bool:
        return bitmap.count(self.cores) == self.node.cpus // self.threads


def free(node: wire.WireNode, users: Iterable[FakeJob]) -> Free:
    cores = (1 << (node.cpus // (node.threads or 1))) - 1
    memory = node.real_memory
    devices = {(one.name, one.type): (1 << one.count) - 1 for one in gres.parse(node.gres)}
    for job in users:
        held = job.held[node.name]
        cores &= ~held.cores
        memory -= held.memory
        for name, kind, numbers in held.devices:
            devices[name, kind] &= ~numbers
    return Free(node, cores, memory, tuple((*at, bits) for at, bits in devices.items()))


def allocated(job: FakeJob, every: Sequence[Free]) -> dict[str, Held] | None:
    """What the job gets of nodes that are all usable; None where that is not enough."""
    least = int(job.node_count.number) or 1
    named = _named(job.required_nodes)
    demanded = named if len(named) <= least else ()
    only = set(named) if len(named) > least else None
    out = set(_named(job.excluded_nodes))
    fits = {
        each.node.name: count
        for each in every
        if each.node.name not in out and (only is None or each.node.name in only)
        if (count := _tasks(job, each))
    }
    if not set(demanded) <= fits.keys():
        return None
    order = [*demanded, *(name for name in fits if name not in demanded)]
    chosen = _chosen(job, {name: fits[name] for name in order}, max(least, len(demanded)))
    if chosen is None:
        return None
    there = [each for each in every if each.node.name in chosen]
    return {each.node.name: _given(job, each, chosen[each.node.name]) for each in there}


def _named(hostlist: str) -> tuple[str, ...]:
    return expand(hostlist)


def _chosen(job: FakeJob, fits: dict[str, int], least: int) -> dict[str, int] | None:
    """How many tasks on which nodes."""
    most, tasks = job.max_nodes or len(fits), int(job.tasks.number)
    if not tasks:
        names = list(fits)[: max(least, job.max_nodes)]
        return dict.fromkeys(names, 1) if len(names) >= least else None
    names = []
    for name in fits:
        if len(names) >= least and sum(fits[each] for each in names) >= tasks:
            break
        names.append(name)
    if not least <= len(names) <= most or sum(fits[each] for each in names) < tasks:
        return None
    return _dealt(tasks, [(name, fits[name]) for name in names])


def _dealt(tasks: int, fits: list[tuple[str, int]]) -> dict[str, int]:
    dealt = {}
    for place, (name, room) in enumerate(fits):
        dealt[name] = max(1, min(room, tasks - (len(fits) - place - 1)))
        tasks -= dealt[name]
    return dealt


# --- one node -------------------------------------------------------------------------------


def _tasks(job: FakeJob, at: Free) -> int:
    """How many tasks fit."""
    if job.exclusive and not at.idle:
        return 0
    cpus, cores = _cpus(job), bitmap.count(at.cores)
    counts = [cores // -(-cpus // at.threads)] if cpus >= at.threads else []
    counts += [] if counts else [cores * (at.threads // cpus)]
    if job.tasks_per_node:
        counts.append(job.tasks_per_node)
    if per_cpu := int(job.memory_per_cpu.number):
        counts.append(at.memory // (per_cpu * cpus))
    if int(job.memory_per_node.number) > at.memory:
        return 0
    for one in gres.parse(job.tres_per_task):
        counts.append(_there(at, one) // one.count)
    if any(_there(at, one) < one.count for one in gres.parse(job.tres_per_node)):
        return 0
    return min(counts)


def _cpus(job: FakeJob) -> int:
    return int(job.cpus_per_task.number) or 1


def _there(at: Free, wanted: Gres) -> int:
    return sum(bitmap.count(bits) for _, _, bits in _serving(at.devices, wanted))


def _serving(devices: Iterable[tuple[str, str, int]], wanted: Gres) -> list[tuple[str, str, int]]:
    return [each for each in devices if each[0] == wanted.name and wanted.type in ("", each[1])]


def _given(job: FakeJob, at: Free, tasks: int) -> Held:
    cpus = _cpus(job)
    whole = -(-cpus // at.threads) * tasks if cpus >= at.threads else -(-tasks * cpus // at.threads)
    cores = at.cores if job.exclusive else _first(at.cores, whole)
    memory = int(job.memory_per_node.number) or int(job.memory_per_cpu.number) * cpus * tasks
    wanted = [
        *gres.parse(job.tres_per_node),
        *(Gres(one.name, one.type, one.count * tasks) for one in gres.parse(job.tres_per_task)),
    ]
    devices = tuple(_taken(at, wanted))
    return Held(bitmap.count(cores) * at.threads, cores, memory, devices)


def _taken(at: Free, wanted: Iterable[Gres]) -> Iterable[tuple[str, str, int]]:
    for one in wanted:
        missing = one.count
        for name, kind, bits in _serving(at.devices, one):
            some = _first(bits, missing)
            missing -= bitmap.count(some)
            if some:
                yield name, kind, some


def _first(bits: int, count: int) -> int:
    return bitmap.of(islice(bitmap.indices(bits), count))
