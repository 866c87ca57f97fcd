"""What is known of one Slurm at a moment. Where Slurm does not answer there is no such thing."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from windlass.api.controller import Controller
from windlass.slurm.model import Job, Node, Reservation
from windlass.slurm.table import Change
from windlass.values.clock import Seconds
from windlass.values.hostlist import expand
from windlass.values.malformed import Malformed

NO_JOBS: Final[Mapping[str, Job]] = MappingProxyType({})


SeesSlurm: TypeAlias = Callable[[Controller], "Seen | None"]


def silent(_: Controller) -> "Seen | None":
    """Slurm, where nobody asks it."""
    return None


@dataclass(frozen=True, slots=True)
class Seen:
    nodes: Mapping[str, Node]
    jobs: Mapping[str, Mapping[str, Job]] = field(default_factory=dict)
    """By the name of a node, the jobs that hold it."""
    reservations: Mapping[str, Reservation] | None = None
    """By name; None where they were not read."""
    queues: Mapping[str, Mapping[str, Job]] = field(default_factory=dict)
    """By the name of a partition, the jobs that name it and have not ended."""
    unread: Container[str] = frozenset()
    """Nodes to which jobs came, or from which they went, since jobs were last asked for."""

    def on(self, node: str) -> Mapping[str, Job]:
        """The jobs that hold a node, by their number."""
        return self.jobs.get(node, NO_JOBS)

    def naming(self, partition: str) -> Mapping[str, Job]:
        """The jobs that wait or run in a partition, or would also wait there; by their number."""
        return self.queues.get(partition, NO_JOBS)

    def free(self, node: str) -> bool:
        """Whether no job is on it and none can come: it is drained or down.

        Slurm calls a node idle whose only job is suspended, so jobs are asked, too.
        """
        known = self.nodes.get(node)
        if known is None or known.state.busy or self.on(node):
            return False
        return known.state.drained or known.state.down


class Occupancy:
    """Which jobs hold which nodes and name which partitions, kept up as jobs change: work for each
    change, not each job."""

    def __init__(self) -> None:
        self.by_node: dict[str, dict[str, Job]] = {}
        self.by_partition: dict[str, dict[str, Job]] = {}
        self.unread: dict[str, Seconds] = {}
        """When a node was seen to have more jobs or fewer, until they are read."""

    def read(self, asked_at: Seconds) -> None:
        """Note that all jobs are known as they were at this moment."""
        for node in [node for node, since in self.unread.items() if since <= asked_at]:
            del self.unread[node]

    def take(self, change: Change[Job]) -> frozenset[str]:
        """Note a change of a job, and answer which nodes it concerns."""
        _file(self.by_partition, change, _named)
        return _file(self.by_node, change, _held)


def _file(
    filed: dict[str, dict[str, Job]],
    change: Change[Job],
    under: Callable[[Job | None], Iterable[str]],
) -> frozenset[str]:
    """Put a changed job where it belongs now, and answer where it was or is."""
    before, after = frozenset(under(change.before)), frozenset(under(change.after))
    for name in before - after:
        held = filed.get(name, {})
        held.pop(change.name, None)
        if not held:
            filed.pop(name, None)
    if change.after is not None:
        for name in after:
            filed.setdefault(name, {})[change.name] = change.after
    return before | after


def holds(job: Job) -> bool:
    """Whether it has nodes: also while it is suspended, when Slurm may call them idle."""
    return job.state.running or job.state.suspended or job.state.completing


def _named(job: Job | None) -> Iterable[str]:
    if job is None or not (job.state.pending or holds(job)):
        return ()
    return filter(None, job.partition.split(","))


def _held(job: Job | None) -> Iterator[str]:
    if job is None or not job.nodes or not holds(job):
        return
    try:
        yield from expand(job.nodes)
    except Malformed:
        return
