"""Which of the missing workers are made now: names of others and claims that are being deleted are
waited for, and only so many start at the same time, since each slurmd that registers keeps
slurmctld busy."""

from collections.abc import Sequence
from typing import Final

from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.facts import finished, going, ready_since
from windlass.operator.workers.identity import Identity
from windlass.operator.workers.volumes import claim_names
from windlass.values.reason import Reason

SHOWN: Final = 5


def wanted_workers(course: Pass, missing: Sequence[Identity]) -> Outcome:
    strangers = course.observed.strangers
    taken = [each.pod for each in missing if each.pod in strangers]
    held = _held(course, missing)
    free = [each for each in missing if each.pod not in strangers and each.pod not in held]
    room = max(0, course.observed.site.starting_workers - _starting(course))
    made, later = tuple(free[:room]), len(free) - room
    waits = [_scaling_out(len(free), course)] if free else []
    if later > 0:
        sentence = f"{later} workers are made when those that start now are ready"
        waits = [Reason("StartingThrottled", sentence)] if not made else waits
    if held:
        waits.append(_waiting(held))
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


def _held(course: Pass, missing: Sequence[Identity]) -> frozenset[str]:
    """The pods for which a claim is still there from before, and goes."""
    leaving = {each.name for each in course.observed.claims if each.deletion_timestamp}
    node_set = course.observed.node_set
    found = (each for each in missing if leaving and leaving & claim_names(node_set, each))
    return frozenset(each.pod for each in found)


def _waiting(names: frozenset[str]) -> Reason:
    shown = ", ".join(sorted(names)[:SHOWN])
    sentence = f"{len(names)} workers wait for claims of theirs that are being deleted: {shown}"
    return Reason("ClaimGoing", sentence)


def _taken(names: list[str]) -> Reason:
    shown = ", ".join(names[:SHOWN])
    return Reason("NameTaken", f"pods of others have the names of workers: {shown}")
