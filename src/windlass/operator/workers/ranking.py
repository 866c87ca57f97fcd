"""Which worker goes first when there are too many: the one that loses least."""

import re
from datetime import UTC, datetime
from typing import Final, TypeAlias

from windlass.api import labels
from windlass.operator.workers.facts import ready_since
from windlass.operator.workers.identity import ordinal_of
from windlass.operator.workers.worker import Worker

Rank: TypeAlias = tuple[bool, int, bool, int, bool, bool, float, bool, int, float, float]

_PHASES: Final = {"Pending": 0, "Unknown": 1}
_COST: Final = re.compile(r"0|-?[1-9][0-9]{0,9}")
_INT32: Final = range(-(2**31), 2**31)
LAST: Final = float("inf")


def rank(worker: Worker, *, condemned: bool = False) -> Rank:
    """Smaller goes first. A tuple, so that any two workers compare alike from both sides.

    Of those with jobs, whoever was chosen before stays chosen, or jobs that come and go would
    drain ever others.
    """
    pod = worker.pod
    annotations = pod.metadata.annotations or {}
    since = ready_since(pod)
    created = pod.metadata.creation_timestamp
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 2),
        # A job may be there before the pod counts as ready.
        since is not None or worker.busy,
        _deletion_cost(annotations.get(labels.POD_DELETION_COST, "")),
        worker.busy,
        not condemned,
        _last_end(worker, annotations.get(labels.POD_DEADLINE, "")),
        not _cordoned(worker),
        -(ordinal_of(pod) or 0),
        -since.timestamp() if since else -LAST,
        -created.timestamp() if created else -LAST,
    )


def _deletion_cost(written: str) -> int:
    cost = int(written) if _COST.fullmatch(written) else 0
    return cost if cost in _INT32 else 0


def _cordoned(worker: Worker) -> bool:
    annotated = (worker.pod.metadata.annotations or {}).get(labels.POD_CORDON) == "true"
    return annotated or bool(worker.node and worker.node.state.drain)


def _last_end(worker: Worker, written: str) -> float:
    """When its last job ends: as Slurm says, or as the pod says while Slurm is silent."""
    if worker.node is None:
        return _deadline(written)
    if worker.jobs:
        return max(float(job.ends_at or LAST) for job in worker.jobs.values())
    return LAST if worker.busy else -LAST


def _deadline(written: str) -> float:
    """None is soonest, one that cannot be read is never."""
    if not written:
        return -LAST
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return LAST
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
