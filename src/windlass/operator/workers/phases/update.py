"""Workers of an old revision are replaced, a few at a time, none with a job in it.

The budget is `maxUnavailable` less all that is unavailable already: slots without a pod, workers
that are not available, and those that leave. An old worker that is not ready anyway goes at once
and costs nothing. A new one that does not come up for PATIENCE stops to count as soon as others of
its revision have come up: one bad host does not hold the rest for ever; a bad template does.
"""

import math
from collections.abc import Sequence
from typing import Final

from windlass.api.node_set import NodeSet
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.facts import available_in
from windlass.operator.workers.outdated import outdated
from windlass.operator.workers.phases.scale import chosen, of_the_set
from windlass.operator.workers.ranking import Rank, rank
from windlass.operator.workers.worker import Worker
from windlass.values.reason import Reason

UPDATE: Final = "is updated"
PATIENCE: Final = 600.0


def update(course: Pass) -> Outcome:
    strategy = course.observed.node_set.spec.update_strategy
    old = [each for each in course.staying if outdated(course, each.pod)]
    if not old or strategy.type != "RollingUpdate":
        return NOTHING
    if strategy.paused:
        return paused(old)
    dead = [each for each in old if not available(course, each)]
    alive = sorted((each for each in old if available(course, each)), key=_loses_least)
    why = of_the_set(course.observed.node_set, UPDATE, "Update")
    taken = chosen(dead, len(dead), why) + chosen(alive, max(0, budget(course)), why)
    waits = (_held(course, old),) if len(taken.leave) < len(old) else ()
    return taken + Outcome(waits=waits)


def paused(old: Sequence[Worker]) -> Outcome:
    sentence = f"{len(old)} workers have an old revision; updateStrategy.paused keeps them"
    return Outcome(waits=(Reason("UpdatePaused", sentence),))


def budget(course: Pass) -> int:
    """How many available workers of an old revision may be taken now."""
    wanted = course.observed.desired
    most = max_unavailable(course.observed.node_set, wanted)
    up = sum(available(course, each) for each in course.staying)
    return most - max(0, wanted - up - _given_up(course))


def max_unavailable(node_set: NodeSet, wanted: int) -> int:
    """At least one, or nothing would ever be updated; a share is rounded up."""
    given = node_set.spec.update_strategy.rolling_update.max_unavailable
    if isinstance(given, int):
        return max(1, given)
    share = given.removesuffix("%")
    return max(1, math.ceil(int(share) * wanted / 100)) if share.isdecimal() else 1


def _given_up(course: Pass) -> int:
    """New workers that have not come up for long, though others of their revision have."""
    new = [each for each in course.staying if not outdated(course, each.pod)]
    if not any(available(course, each) for each in new):
        return 0
    return sum(not available(course, each) and _age(course, each) > PATIENCE for each in new)


def available(course: Pass, worker: Worker) -> bool:
    least = course.observed.node_set.spec.min_ready_seconds
    return available_in(worker.pod, least, course.now) == 0


def _age(course: Pass, worker: Worker) -> float:
    created = worker.pod.metadata.creation_timestamp
    return (course.now - created).total_seconds() if created else 0.0


def _loses_least(worker: Worker) -> Rank:
    return rank(worker, condemned=worker.drained_by_us.endswith(UPDATE))


def _held(course: Pass, old: Sequence[Worker]) -> Reason:
    down = [
        each
        for each in course.staying
        if not outdated(course, each.pod) and not available(course, each)
    ]
    sentence = f"{len(old)} workers have an old revision and go a few at a time"
    if down:
        sentence += f"; {len(down)} new ones are not available yet"
    return Reason("RollingUpdate", sentence)
