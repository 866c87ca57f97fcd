"""Workers whose containers have ended for good are removed, to be made anew."""

from windlass.kube.kinds import POD
from windlass.operator.plan import AtOnce, Delete
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.facts import finished, going
from windlass.values.reason import Reason

ENDED = Reason("WorkerEnded", "its containers have ended; it is made anew")


def end(course: Pass) -> Outcome:
    ended = [
        Delete(POD, each.pod.metadata.key, each.pod.metadata.uid, ENDED)
        for each in course.workers
        if finished(each.pod) and not going(each.pod)
    ]
    return Outcome(actions=(AtOnce(tuple(ended)),)) if ended else NOTHING
