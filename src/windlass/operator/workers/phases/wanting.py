"""Which of the missing workers are made now: names of others are waited for, and only so many
start at the same time, since each slurmd that registers keeps slurmctld busy."""

from collections.abc import Sequence
from typing import Final

from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.facts import finished, going, ready_since
from windlass.operator.workers.identity import Identity
from windlass.values.reason import Reason

SHOWN: Final = 5


def wanted_workers(course: Pass, missing: Sequence[Identity]) -> Outcome:
    strangers = course.observed.strangers
    taken = [each.pod for each in missing if each.pod in strangers]
    free = [each for each in missing if each.pod not in strangers]
    room = max(0, course.observed.site.starting_workers - _starting(course))
    made, later = tuple(free[:room]), len(free) - room
    waits = [_scaling_out(len(free), course)] if free else []
    if later > 0:
        sentence = f"{later} workers are made when those that start now are ready"
        waits = [Reason("StartingThrottled", sentence)] if not made else waits
    faults = (_taken(taken),) if taken else ()
    return Outcome(make=made, waits=tuple(waits), faults=faults)


def _scaling_out(missing: int, course: Pass) -> Reason:
    number = missing + len(course.observed.pods)
    return Reason("ScalingOut", f"{missing} of {number} workers are being made")


def _starting(course: Pass) -> int:
    """Who is on a node and not ready yet; who waits for a node keeps nobody busy."""
    return sum(
        bool(each.pod.spec.node_name)
        and ready_since(each.pod) is None
        and not (going(each.pod) or finished(each.pod))
        for each in course.workers
    )


def _taken(names: list[str]) -> Reason:
    shown = ", ".join(names[:SHOWN])
    return Reason("NameTaken", f"pods of others have the names of workers: {shown}")
