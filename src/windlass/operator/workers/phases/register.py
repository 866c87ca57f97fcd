"""Workers that are well but that Slurm does not know are replaced: slurmd registers only when it
starts, and a slurmctld that lost its state never hears of it again.

Few at a time, and ever more rarely the longer it goes on, since a new pod may not help either: the
condition `Registered` remembers since when.
"""

from datetime import datetime
from typing import Final

from windlass.operator.plan import Retire
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.facts import available_in, ready_since
from windlass.operator.workers.worker import Worker
from windlass.values.reason import Reason

GRACE: Final = 60.0
"""Seconds in which a ready worker has registered, if it ever will."""
SHARE: Final = 10
"""One in so many is replaced at a time."""
LEAST: Final = 10.0
"""Even if only one worker is missing in Slurm, look again no sooner than this."""


def register(course: Pass) -> Outcome:
    lost = unregistered(course)
    if not lost:
        return NOTHING
    overdue = [each for each in lost if _ready_for(course, each) >= GRACE]
    if not overdue:
        return Outcome(again=max(LEAST, GRACE - max(_ready_for(course, each) for each in lost)))
    names = ", ".join(each.pod.metadata.name for each in overdue[:3])
    sentence = f"{len(overdue)} workers are ready but Slurm does not know them: {names}"
    fault = Reason("SlurmNodeNotRegistered", sentence)
    wait = _pause(course) - _since_last_start(course)
    if wait > 0:
        return Outcome(faults=(fault,), again=wait)
    few = overdue[: max(1, len(course.workers) // SHARE)]
    why = Reason("SlurmNodeNotRegistered", "they are made anew, since Slurm does not know them")
    retired = Retire(tuple(each.leaving for each in few), why, unknown=True)
    return Outcome(actions=(retired,), faults=(fault,), again=GRACE)


def unregistered(course: Pass) -> list[Worker]:
    """Ready workers that are not in Slurm's list; none where Slurm does not answer."""
    if course.slurm is None:
        return []
    least = course.observed.node_set.spec.min_ready_seconds
    return [
        each
        for each in course.staying
        if each.node is None and available_in(each.pod, least, course.now) == 0
    ]


def _ready_for(course: Pass, worker: Worker) -> float:
    since = ready_since(worker.pod)
    return (course.now - since).total_seconds() if since else 0.0


def _pause(course: Pass) -> float:
    """Half of the time that the trouble has lasted, so that each pause is longer than the last."""
    since = _trouble_since(course)
    return max(GRACE, (course.now - since).total_seconds() / 2) if since else GRACE


def _trouble_since(course: Pass) -> datetime | None:
    for each in course.observed.node_set.status.conditions or ():
        if each.type == "Registered" and each.status == "False":
            return each.last_transition_time
    return None


def _since_last_start(course: Pass) -> float:
    """Seconds since the youngest pod was made: the last replacement, if there was one."""
    ages = (
        (course.now - created).total_seconds()
        for each in course.workers
        if (created := each.pod.metadata.creation_timestamp)
    )
    return min(ages, default=0.0)
