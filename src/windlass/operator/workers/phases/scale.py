"""As many workers as `replicas` says: the lowest free numbers are made, who loses least goes."""

from collections.abc import Iterable, Sequence
from typing import Final

from windlass.api.node_set import NodeSet
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.missing import missing_numbers
from windlass.operator.workers.phases.wanting import wanted_workers
from windlass.operator.workers.ranking import Rank, rank
from windlass.operator.workers.worker import Worker
from windlass.values.reason import Reason

SCALE_IN: Final = "scales in"
SOON: Final = 3.0
"""Seconds within which jobs have been read, most likely."""


def scale(course: Pass) -> Outcome:
    observed = course.observed
    if observed.node_set.spec.scaling_mode != "StatefulSet":
        return NOTHING
    missing = missing_numbers(observed)
    surplus = max(0, len(course.staying) - observed.node_set.spec.replicas)
    why = of_the_set(observed.node_set, SCALE_IN, "ScaleIn")
    first = sorted(course.staying, key=_loses_least) if surplus else []
    return chosen(first, surplus, why) + wanted_workers(course, missing)


def chosen(ranked: Sequence[Worker], number: int, why: Reason) -> Outcome:
    """The first ones leave. Unless all do, none is taken for idle that has got a job meanwhile, and
    of those with jobs nobody is chosen before it is known when each of these jobs ends."""
    first = ranked[:number]
    if len(first) == len(ranked):
        return Outcome(leave=_for(why, first))
    blind = any(each.in_doubt for each in ranked)
    leave = [each for each in first if not (blind and each.busy) or each.drained_by_us]
    idle = frozenset(_for(why, (each for each in leave if not each.busy)))
    again = SOON if len(leave) < len(first) else None
    return Outcome(leave=_for(why, leave), if_idle=idle, again=again)


def _for(why: Reason, workers: Iterable[Worker]) -> dict[str, Reason]:
    return {each.pod.metadata.name: why for each in workers}


def of_the_set(node_set: NodeSet, why: str, code: str) -> Reason:
    """The same for all of its workers, so that one call to Slurm drains them all."""
    meta = node_set.metadata
    return Reason(code, f"NodeSet ({meta.namespace}/{meta.name}) {why}")


def _loses_least(worker: Worker) -> Rank:
    return rank(worker, condemned=worker.drained_by_us.endswith(SCALE_IN))
