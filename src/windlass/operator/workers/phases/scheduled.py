"""ScheduledUpdate: workers of an old revision are replaced while their reservation is in force.

One that is not available anyway goes at once: there is nothing to wait for. One that starts may
have its first job before its pod counts as ready, and then waits for the window, too.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.outdated import outdated
from windlass.operator.workers.phases.scale import of_the_set
from windlass.operator.workers.phases.update import UPDATE, available, paused
from windlass.operator.workers.reservation import reservation_name
from windlass.operator.workers.worker import Worker
from windlass.values.reason import Reason


def scheduled(course: Pass) -> Outcome:
    strategy = course.observed.node_set.spec.update_strategy
    old = [each for each in course.staying if outdated(course, each.pod)]
    if not old or strategy.type != "ScheduledUpdate":
        return NOTHING
    if strategy.paused:
        return paused(old)
    taken = [each for each in old if _in_maintenance(course, each) or not _serves(course, each)]
    why = of_the_set(course.observed.node_set, UPDATE, "ScheduledUpdate")
    leave = dict.fromkeys((each.pod.metadata.name for each in taken), why)
    waits = (_later(course, old),) if len(taken) < len(old) else ()
    return Outcome(leave=leave, waits=waits)


def _serves(course: Pass, worker: Worker) -> bool:
    return available(course, worker) or worker.busy


def _in_maintenance(course: Pass, worker: Worker) -> bool:
    node = worker.node
    own = reservation_name(course.observed.node_set.metadata.name)
    return node is not None and node.state.has("MAINTENANCE") and node.reservation == own


def _later(course: Pass, old: Sequence[Worker]) -> Reason:
    sentence = f"{len(old)} workers have an old revision and are replaced in the reservation"
    own = reservation_name(course.observed.node_set.metadata.name)
    found = (course.slurm.reservations or {}).get(own) if course.slurm else None
    if found is not None and found.starts_at:
        sentence += (
            f" that begins at {datetime.fromtimestamp(found.starts_at, UTC):%Y-%m-%d %H:%M} UTC"
        )
    return Reason("UpdateScheduled", sentence)
