"""All workers of a NodeSet that is being deleted are to go."""

from typing import Final

from windlass.kube.kinds import POD
from windlass.operator.plan import AtOnce, Delete
from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.facts import finished, going
from windlass.operator.workers.phases.scale import of_the_set
from windlass.values.reason import Reason

DELETED: Final = "is deleted"
SHOWN: Final = 3


def depart(course: Pass) -> Outcome:
    why = of_the_set(course.observed.node_set, DELETED, "Deleted")
    leave = dict.fromkeys((each.pod.metadata.name for each in course.staying), why)
    ended = tuple(
        Delete(POD, each.pod.metadata.key, each.pod.metadata.uid, why)
        for each in course.workers
        if finished(each.pod) and not going(each.pod)
    )
    return Outcome(leave=leave, actions=(AtOnce(ended),) if ended else ())


def ending(course: Pass) -> Outcome:
    """Whose pods have been deleted and still end: their Slurm nodes are in use until then."""
    names = [each.pod.metadata.name for each in course.workers]
    if not names:
        return Outcome()
    shown = ", ".join(names[:SHOWN]) + ("..." if len(names) > SHOWN else "")
    return Outcome(waits=(Reason("Deleting", f"{len(names)} workers are leaving: {shown}"),))
