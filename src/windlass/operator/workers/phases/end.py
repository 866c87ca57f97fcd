"""Workers whose containers have ended for good are removed, to be made anew; `spread` does so for
those that belong to a host."""

from windlass.kube.kinds import POD
from windlass.operator.plan import AtOnce, Delete
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.facts import finished, going
from windlass.operator.workers.identity import ON_EVERY_HOST, mode_of
from windlass.operator.workers.worker import Worker
from windlass.values.reason import Reason

ENDED = Reason("WorkerEnded", "its containers have ended; it is made anew")


def end(course: Pass) -> Outcome:
    ended = [
        Delete(POD, each.pod.metadata.key, each.pod.metadata.uid, ENDED)
        for each in course.workers
        if finished(each.pod) and not going(each.pod) and not _of_a_host(course, each)
    ]
    return Outcome(actions=(AtOnce(tuple(ended)),)) if ended else NOTHING


def _of_a_host(course: Pass, worker: Worker) -> bool:
    return course.observed.on_every_host and mode_of(worker.pod) == ON_EVERY_HOST
