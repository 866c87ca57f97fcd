"""Workers with jobs are protected from eviction by a label that the PodDisruptionBudget looks for,
and carry until when their jobs may take, for whoever chooses which to take away.

Protection stays until Slurm says that the node is not busy: silence is no such word. It comes at
once and goes a little later, since the next job may be there already.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import POD
from windlass.operator.plan import AtOnce, Mark
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.course import Outcome, Pass, soonest
from windlass.operator.workers.facts import finished, going
from windlass.operator.workers.phases.show import waits
from windlass.operator.workers.worker import Worker
from windlass.slurm.model import UNLIMITED, Job

PROTECTED: Final = "true"
NEVER: Final = "9999-12-31T23:59:59Z"
"""When a job without a limit is over."""
ROUGHLY: Final = 60.0
"""A deadline that moves by less is not written anew: of many short jobs each moves it a little."""


def protect(course: Pass) -> Outcome:
    live = (each for each in course.workers if not (going(each.pod) or finished(each.pod)))
    found = [
        (mark, waits(each.pod, course.now) if _only_less(mark) else 0.0)
        for each in live
        if (mark := _mark(course.observed.node_set, each, course.slurm))
    ]
    marks = tuple(mark for mark, wait in found if not wait)
    again = soonest(*(wait for _, wait in found if wait))
    return Outcome(actions=(AtOnce(marks),) if marks else (), again=again)


def _only_less(mark: Mark) -> bool:
    """Whether it takes away, and adds nothing."""
    return not any((*mark.labels.values(), *mark.annotations.values()))


def _mark(node_set: NodeSet, worker: Worker, seen: Seen | None) -> Mark | None:
    meta = worker.pod.metadata
    protected = _protection(node_set, worker, seen)
    deadline = _deadline(worker, seen)
    if not (protected or deadline):
        return None
    return Mark(POD, meta.key, meta.uid, protected, deadline)


def _protection(node_set: NodeSet, worker: Worker, seen: Seen | None) -> Mapping[str, str | None]:
    shown = (worker.pod.metadata.labels or {}).get(labels.POD_PROTECT)
    busy = _busy(worker, seen) if node_set.spec.workload_disruption_protection else False
    wanted = shown if busy is None else PROTECTED if busy else None
    return {} if wanted == shown else {labels.POD_PROTECT: wanted}


def _busy(worker: Worker, seen: Seen | None) -> bool | None:
    """Whether a job is there; None where Slurm does not say so, nor that there is none."""
    node = worker.node
    if seen is None or node is None:
        return None
    if worker.jobs or node.state.busy:
        return True
    return None if node.state.base == "UNKNOWN" else False


def _deadline(worker: Worker, seen: Seen | None) -> Mapping[str, str | None]:
    if seen is None:
        return {}
    shown = (worker.pod.metadata.annotations or {}).get(labels.POD_DEADLINE)
    wanted = deadline(worker.jobs)
    if wanted == shown or (wanted and shown and _near(wanted, shown)):
        return {}
    return {labels.POD_DEADLINE: wanted}


def deadline(jobs: Mapping[str, Job]) -> str | None:
    """When the last job is over by its limit; None without jobs."""
    if not jobs:
        return None
    ends = [job.ends_at for job in jobs.values()]
    if any(job.time_limit == UNLIMITED for job in jobs.values()) or None in ends:
        return NEVER
    last = max(each for each in ends if each is not None)
    return datetime.fromtimestamp(last, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _near(one: str, other: str) -> bool:
    try:
        apart = datetime.fromisoformat(one) - datetime.fromisoformat(other)
    except (ValueError, TypeError):
        return False
    return abs(apart.total_seconds()) < ROUGHLY
