"""Workers of hosts that ended for good are made anew, later and later if they end soon again.

A new pod carries how many before it ended soon after they were made: nobody has to remember it. The
old one is deleted and the new one made in one go; if that is cut short, the count begins anew.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from windlass.api import labels
from windlass.kube.kinds import POD
from windlass.kube.objects import Pod
from windlass.operator.plan import AtOnce, Delete
from windlass.operator.pods.trouble import container_statuses
from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.facts import finished, going
from windlass.operator.workers.identity import (
    ON_EVERY_HOST,
    Identity,
    host_of,
    identity_on,
    mode_of,
)
from windlass.values.reason import Reason

FIRST: Final = 1.0
LONGEST: Final = 900.0
"""Seconds between two tries; who lived for longer did not end soon."""
NEVER: Final = datetime.min.replace(tzinfo=UTC)
_COUNT: Final = re.compile(r"[0-9]{1,4}")
ENDED: Final = Reason("WorkerEnded", "its containers have ended; it is made anew")
DONE: Final = Reason("WorkerEnded", "its containers have ended, and its host wants no other")


@dataclass(slots=True)
class Remade:
    """What becomes of workers that ended."""

    now: datetime
    over: list[Pod] = field(default_factory=list)
    """Nobody comes after them."""
    due: dict[Identity, Pod] = field(default_factory=dict)
    later: dict[str, datetime] = field(default_factory=dict)
    """By the name of a pod, when its turn comes."""

    @property
    def ready(self) -> list[Identity]:
        return list(self.due)

    def outcome(self, made: Collection[Identity]) -> Outcome:
        """Who is made now has to be deleted before."""
        deleted = [
            *(_delete(pod, DONE) for pod in self.over),
            *(_delete(pod, ENDED) for who, pod in self.due.items() if who in made),
        ]
        faults = (self._waiting(),) if self.later else ()
        soonest = min(self.later.values(), default=None)
        again = (soonest - self.now).total_seconds() if soonest else None
        return Outcome(
            actions=(AtOnce(tuple(deleted)),) if deleted else (), faults=faults, again=again
        )

    def _waiting(self) -> Reason:
        name, moment = min(self.later.items(), key=lambda each: each[1])
        sentence = (
            f"{len(self.later)} workers ended soon after they were made; "
            f"the next, {name}, is made anew at {moment:%H:%M:%S} UTC"
        )
        return Reason("WorkerEnded", sentence)


def remake(course: Pass) -> Remade:
    observed = course.observed
    found = Remade(course.now)
    others = (each.pod for each in course.workers if not finished(each.pod) or going(each.pod))
    taken = {host_of(pod) for pod in others}
    for pod in _ended(course):
        host = host_of(pod)
        if host not in observed.places.fit or host in taken:
            found.over.append(pod)
            continue
        taken.add(host)
        failures = _failures(pod)
        due = _ended_at(pod) + timedelta(seconds=pause(failures))
        if due <= course.now:
            who = identity_on(observed.node_set, observed.hosts[host], failures)
            found.due[who] = pod
        else:
            found.later[pod.metadata.name] = due
    return found


def pause(failures: int) -> float:
    """Seconds from the end of a pod to the making of the next."""
    return min(LONGEST, FIRST * 2.0 ** max(0, min(failures, 20) - 1))


def _ended(course: Pass) -> Iterator[Pod]:
    for each in course.workers:
        if finished(each.pod) and not going(each.pod) and mode_of(each.pod) == ON_EVERY_HOST:
            yield each.pod


def _failures(pod: Pod) -> int:
    """How many pods, up to this one, ended soon; none if this one did not."""
    if _ended_at(pod) - _made_at(pod) >= timedelta(seconds=LONGEST):
        return 0
    written = (pod.metadata.annotations or {}).get(labels.POD_FAILURES, "")
    return 1 + (int(written) if _COUNT.fullmatch(written) else 0)


def _made_at(pod: Pod) -> datetime:
    return pod.metadata.creation_timestamp or NEVER


def _ended_at(pod: Pod) -> datetime:
    """The last that is known of it: a pod that its host would not take has no containers."""
    status = pod.status
    ends = [
        each.state.terminated.finished_at
        for each in container_statuses(pod)
        if each.state and each.state.terminated
    ]
    changes = [each.last_transition_time for each in status.conditions or ()]
    known = [each for each in (*ends, *changes, status.start_time) if each]
    return max([_made_at(pod), *known])


def _delete(pod: Pod, why: Reason) -> Delete:
    return Delete(POD, pod.metadata.key, pod.metadata.uid, why)
