"""ScheduledUpdate has a maintenance reservation over the set's nodes, made once for each schedule.

absent ── made before? ── yes ─> over, or removed by an administrator: it stays so
                          no ──> made
there ─── as wanted? ──── yes ─> kept; its list of nodes follows the workers
                          no ──> made anew, as soon as it is not in force
"""

from collections.abc import Iterator
from typing import Final

from windlass.operator.conditions import Verdict
from windlass.operator.plan import Action, Reserve, Unreserve
from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.reservation import (
    CONDITION,
    PREFIX,
    Schedule,
    memory,
    nodes_of,
    remembered,
    reservation_name,
    schedule,
)
from windlass.slurm.model import Reservation
from windlass.slurm.specs import ReservationSpec
from windlass.values.hostlist import fold
from windlass.values.reason import Reason

USER: Final = "slurm"
DONE: Final = ("Created", "Over", "Removed")
MADE: Final = Reason("ReservationCreated", "workers are updated in it")
NO_MORE: Final = Reason("ReservationRemoved", "no update is scheduled any more")
CHANGED: Final = Reason("ReservationChanged", "its schedule has changed")
OTHER_NODES: Final = Reason("ReservationChanged", "the workers have changed")


def reserve(course: Pass) -> Outcome:
    wanted = schedule(course.observed.node_set)
    seen = course.slurm
    if seen is None or seen.reservations is None:
        return Outcome(verdicts=remembered(course.observed.node_set))
    found = seen.reservations.get(reservation_name(course.observed.node_set.metadata.name))
    if wanted is None:
        return _ended(course, found)
    return _absent(course, wanted) if found is None else _present(course, wanted, found)


def _ended(course: Pass, found: Reservation | None) -> Outcome:
    """What we remember is ours; another's of that name is left alone."""
    node_set = course.observed.node_set
    if found is None or memory(node_set) is None:
        return Outcome()
    return Outcome(
        actions=(Unreserve(found.name, NO_MORE),),
        verdicts=_said("NotExists", f"{found.name} is no longer wanted"),
    )


def _absent(course: Pass, wanted: Schedule) -> Outcome:
    old = memory(course.observed.node_set)
    now = int(course.now.timestamp())
    if old is not None and old.message == str(wanted) and old.reason in DONE:
        over = wanted.step is None and wanted.starts_at + wanted.minutes * 60 <= now
        return Outcome(verdicts=_said("Over" if over else "Removed", str(wanted)))
    begin, names = wanted.next_start(now), _nodes(course)
    if begin is None:
        return Outcome(verdicts=_said("TooLate", f"{wanted}: its start is over"))
    if not names:
        return Outcome(verdicts=_said("NotExists", "no worker is registered yet"))
    return Outcome(
        actions=(Reserve(_spec(wanted, begin, names), MADE),),
        verdicts=_said("Creating", str(wanted)),
    )


def _present(course: Pass, wanted: Schedule, found: Reservation) -> Outcome:
    now = int(course.now.timestamp())
    names = _nodes(course)
    if wanted.agrees(found) and not _meant_otherwise(course, wanted):
        verdicts = (Verdict(CONDITION, status=True, reason=Reason("Created", str(wanted))),)
        return Outcome(actions=tuple(_follows(found, names)), verdicts=verdicts)
    begin = wanted.next_start(now)
    if (found.starts_at or 0) <= now < (found.ends_at or 0):
        again = float((found.ends_at or 0) - now)
        kept = remembered(course.observed.node_set)
        return Outcome(actions=tuple(_follows(found, names)), verdicts=kept, again=again)
    gone = Unreserve(found.name, CHANGED)
    if begin is None or not names:
        return Outcome(actions=(gone,), verdicts=_said("TooLate", f"{wanted}: its start is over"))
    return Outcome(
        actions=(gone, Reserve(_spec(wanted, begin, names), CHANGED)),
        verdicts=_said("Creating", str(wanted)),
    )


def _meant_otherwise(course: Pass, wanted: Schedule) -> bool:
    """Whether what we made was for another schedule, as flags that Slurm does not show tell."""
    old = memory(course.observed.node_set)
    return old is not None and old.message.startswith(PREFIX) and old.message != str(wanted)


def _follows(found: Reservation, names: tuple[str, ...]) -> Iterator[Action]:
    if names and nodes_of(found) != frozenset(names):
        yield Reserve(ReservationSpec(name=found.name, nodes=(fold(names),)), OTHER_NODES)


def _nodes(course: Pass) -> tuple[str, ...]:
    """The workers that Slurm knows, also those that are made anew at the moment."""
    known = course.slurm.nodes if course.slurm else {}
    names = {each.name for each in course.workers} | {each.hostname for each in course.found.make}
    return tuple(sorted(name for name in names if name in known))


def _spec(wanted: Schedule, begin: int, names: tuple[str, ...]) -> ReservationSpec:
    return ReservationSpec(
        name=wanted.name,
        nodes=(fold(names),),
        starts_at=begin,
        minutes=wanted.minutes,
        users=(USER,),
        flags=wanted.flags,
    )


def _said(code: str, sentence: str) -> tuple[Verdict, ...]:
    return (Verdict(CONDITION, status=False, reason=Reason(code, sentence)),)
