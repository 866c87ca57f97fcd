"""Once its last worker is gone, Slurm loses what it knows of a NodeSet that is being deleted: the
reservation first, since reserved nodes are not forgotten. Jobs that name its partition keep that.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.operator.plan import Action, ForgetNodes, Unreserve
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.belonging import belonging, owner
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.reservation import memory, reservation_name, reserved
from windlass.slurm.model import Job, Reservation
from windlass.values.reason import Reason

SHOWN: Final = 5
SOON: Final = 1.0
"""Seconds after which Slurm shows what was written to it."""
FORCE: Final = f"annotate the NodeSet with {labels.FORCE_DELETE}=true"


def clear(course: Pass) -> Outcome:
    if course.workers:
        return NOTHING
    seen = course.slurm
    if seen is None or seen.reservations is None:
        sentence = "Slurm does not answer, so jobs may still name its partition"
        return Outcome(waits=(Reason("SlurmSilent", f"{sentence}; wait, or {FORCE}"),))
    actions = tuple(_left(course.observed.node_set, seen, seen.reservations))
    waits = tuple(_waits(course, seen, actions))
    return Outcome(actions=actions, waits=waits, again=SOON if actions else None)


def _left(
    node_set: NodeSet, seen: Seen, reservations: Mapping[str, Reservation]
) -> Iterator[Action]:
    why = Reason("Deleted", "its NodeSet is deleted")
    name = reservation_name(node_set.metadata.name)
    if name in reservations and memory(node_set) is not None:
        yield Unreserve(name, why)
    # Slurm forgets none that an administrator has reserved, and would refuse for ever.
    kept = reserved(reservations, node_set.metadata.name)
    names = tuple(sorted(each for each in _records(node_set, seen) if each not in kept))
    if names:
        yield ForgetNodes(names, why, whoever=True)


def _records(node_set: NodeSet, seen: Seen) -> Iterator[str]:
    """Slurm nodes that were its workers and are no more."""
    mine = belonging(node_set.metadata)
    for name, node in seen.nodes.items():
        gone = node.state.down or node.state.drained or node.state.not_responding
        if gone and owner(node) == mine and not (node.state.busy or seen.on(name)):
            yield name


def _held(node_set: NodeSet, seen: Seen) -> Iterator[str]:
    """Its nodes that Slurm thinks are busy, as of workers that went while Slurm was away."""
    mine = belonging(node_set.metadata)
    for name, node in seen.nodes.items():
        if owner(node) == mine and (node.state.busy or seen.on(name)):
            yield name


def _waits(course: Pass, seen: Seen, actions: tuple[Action, ...]) -> Iterator[Reason]:
    if actions:
        yield Reason("Deleting", "Slurm forgets its nodes and its reservation")
    node_set, cluster = course.observed.node_set, course.observed.membership
    held = sorted(_held(node_set, seen))
    if held:
        shown = ", ".join(held[:SHOWN])
        sentence = f"Slurm has not found out yet that the workers of jobs on {shown} are gone"
        yield Reason("Deleting", f"{sentence}; wait, or {FORCE}")
    outside = cluster is None or cluster.controller.spec.external
    if node_set.spec.partition.enabled and not outside:
        jobs = seen.naming(node_set.prefix)
        if jobs:
            yield _in_use(node_set.prefix, jobs)


def _in_use(partition: str, jobs: Mapping[str, Job]) -> Reason:
    shown = ", ".join(f"{key} ({job.state})" for key, job in list(jobs.items())[:SHOWN])
    more = f" and {len(jobs) - SHOWN} more" if len(jobs) > SHOWN else ""
    number = "1 job names" if len(jobs) == 1 else f"{len(jobs)} jobs name"
    sentence = (
        f"{number} partition {partition}, and would be lost with it: {shown}{more}; "
        f"cancel them, give them another partition, or {FORCE}"
    )
    return Reason("PartitionInUse", sentence)
