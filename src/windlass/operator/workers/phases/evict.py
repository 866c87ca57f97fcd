"""A worker whose eviction was asked for takes no new jobs, so that whoever asks (`kubectl drain`,
an autoscaler) succeeds when its jobs have ended; some time after the last asking it is given back.
"""

from typing import Final

from windlass.api import labels
from windlass.kube.kinds import POD
from windlass.operator.plan import AtOnce, Mark
from windlass.operator.workers.course import Outcome, Pass, soonest
from windlass.operator.workers.worker import Worker
from windlass.values.moments import moment
from windlass.values.reason import Reason

LASTS: Final = 600.0


def evict(course: Pass) -> Outcome:
    asked = [(each, _left(course, each)) for each in course.staying if _asked(each)]
    over = tuple(_forget(each) for each, left in asked if left <= 0)
    return Outcome(
        drain={each.pod.metadata.name: _reason(each) for each, left in asked if left > 0},
        actions=(AtOnce(over),) if over else (),
        again=soonest(*(left for _, left in asked if left > 0)),
    )


def _asked(worker: Worker) -> str:
    return (worker.pod.metadata.annotations or {}).get(labels.EVICTION_ASKED, "")


def _left(course: Pass, worker: Worker) -> float:
    """Seconds for which the asking still counts; none of one that cannot be read."""
    since = moment(_asked(worker))
    return LASTS - (course.now - since).total_seconds() if since else 0.0


def _reason(worker: Worker) -> Reason:
    return Reason("Eviction", f"{worker.label} is to be evicted")


def _forget(worker: Worker) -> Mark:
    meta = worker.pod.metadata
    return Mark(POD, meta.key, meta.uid, annotations={labels.EVICTION_ASKED: None})
