"""As many workers as `replicas` says: the lowest free numbers are made, who loses least goes."""

from collections.abc import Sequence
from typing import Final

from windlass.api.node_set import NodeSet
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.missing import missing_numbers
from windlass.operator.workers.phases.wanting import wanted_workers
from windlass.operator.workers.ranking import Rank, rank
from windlass.operator.workers.worker import Worker
from windlass.values.reason import Reason

SCALE_IN: Final = "scales in"


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
    """The first ones leave. Where all do, a job that comes changes nothing about who."""
    leave = ranked[:number]
    names = dict.fromkeys((each.pod.metadata.name for each in leave), why)
    if len(leave) == len(ranked):
        return Outcome(leave=names)
    idle = frozenset(each.pod.metadata.name for each in leave if not each.busy)
    return Outcome(leave=names, if_idle=idle)


def of_the_set(node_set: NodeSet, why: str, code: str) -> Reason:
    """The same for all of its workers, so that one call to Slurm drains them all."""
    meta = node_set.metadata
    return Reason(code, f"NodeSet ({meta.namespace}/{meta.name}) {why}")


def _loses_least(worker: Worker) -> Rank:
    return rank(worker, condemned=worker.drained_by_us.endswith(SCALE_IN))
