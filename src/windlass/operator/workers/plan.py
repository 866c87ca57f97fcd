"""What is to be done about a NodeSet: its phases in their order, and what they come to."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from windlass.operator.membership import Membership
from windlass.operator.plan import Action, Plan, Tell
from windlass.operator.workers.course import NOTHING, Outcome, Pass, Phase, run, soonest
from windlass.operator.workers.farewell import farewell
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.past import settled
from windlass.operator.workers.phases.belong import belong
from windlass.operator.workers.phases.claims import claims
from windlass.operator.workers.phases.convert import convert
from windlass.operator.workers.phases.cordon import cordon
from windlass.operator.workers.phases.create import create
from windlass.operator.workers.phases.drain import drain
from windlass.operator.workers.phases.end import end
from windlass.operator.workers.phases.evict import evict
from windlass.operator.workers.phases.features import features
from windlass.operator.workers.phases.forget import forget
from windlass.operator.workers.phases.history import history
from windlass.operator.workers.phases.hold import hold
from windlass.operator.workers.phases.keys import keys
from windlass.operator.workers.phases.overdue import overdue
from windlass.operator.workers.phases.pin import pin
from windlass.operator.workers.phases.protect import protect
from windlass.operator.workers.phases.reclaim import reclaim
from windlass.operator.workers.phases.register import register, unregistered
from windlass.operator.workers.phases.reserve import reserve
from windlass.operator.workers.phases.retire import retire
from windlass.operator.workers.phases.scale import scale
from windlass.operator.workers.phases.scheduled import scheduled
from windlass.operator.workers.phases.share import share, shared
from windlass.operator.workers.phases.show import show
from windlass.operator.workers.phases.spread import spread
from windlass.operator.workers.phases.topology import topology
from windlass.operator.workers.phases.update import update
from windlass.operator.workers.pod import mould
from windlass.operator.workers.refusing import Refusal, refusal
from windlass.operator.workers.resources import best_effort
from windlass.operator.workers.status import next_available, status
from windlass.operator.workers.verdicts import BEST_EFFORT, Judged, faults, told
from windlass.operator.workers.worker import workers
from windlass.values.reason import Reason

# Protection first, since an eviction may be on its way; who leaves is known before who is drained.
PHASES: Final[tuple[Phase, ...]] = (
    *(protect, share, history, convert, end, spread, pin, scale, update, scheduled),
    *(cordon, evict, drain, overdue, retire, claims, reclaim, hold, create),
    *(show, keys, register, belong, topology, features, reserve, forget),
)
LOOK_AGAIN: Final = 60.0
REST: Final = 0.0001
"""Seconds of rest for each worker: a pass costs less than half of that, and so passes cost less
than a third of the time, however much changes."""
LEAST_REST: Final = 0.05
"""Long enough for the watch to show what the pass before has written."""
MOST_REST: Final = 3.0


def plan(observed: Observed, now: datetime) -> Plan:
    if observed.node_set.metadata.deletion_timestamp is not None:
        return farewell(observed, now)
    refused = refusal(observed)
    if refused is not None or observed.membership is None:
        return _refuse(observed, refused, now)
    return _serve(observed, observed.membership, now)


def _serve(observed: Observed, cluster: Membership, now: datetime) -> Plan:
    wanted, collisions = settled(observed)
    shape = mould(observed, cluster, wanted)
    course = Pass(observed, now, wanted, shape, workers(observed))
    found = run(PHASES, course)
    judged = Judged(
        wanted,
        found,
        best_effort=best_effort(shape.spec),
        lost=_lost(course),
        collisions=collisions,
    )
    again = soonest(found.again, next_available(observed, now))
    return Plan(
        (*found.actions, *_tell(observed, judged)),
        status(observed, judged, now),
        again,
        cluster.controller.metadata.key,
        rest=max(LEAST_REST, min(MOST_REST, REST * len(observed.pods))),
    )


def _refuse(observed: Observed, refused: Refusal | None, now: datetime) -> Plan:
    """Pods that run are left alone; what Slurm says of them is shown all the same."""
    judged = Judged(observed.node_set.status.node_set_hash, NOTHING, refused)
    actions = (*shared(observed), *_tell_refusal(observed, refused))
    return Plan(actions, status(observed, judged, now), LOOK_AGAIN)


def _lost(course: Pass) -> int | None:
    """How many ready workers Slurm does not know; None where it does not answer."""
    return None if course.slurm is None else len(unregistered(course))


def _tell(observed: Observed, judged: Judged) -> Iterator[Action]:
    found: Outcome = judged.found
    for wait in found.waits[:1]:
        if not told(observed.node_set, wait) and not found.make:
            yield Tell(warning=False, reason=wait, action="Wait")
    # Only the first is remembered by a condition, so only that is told.
    fault = next(faults(observed, found), None)
    if fault is not None and not told(observed.node_set, fault):
        yield Tell(warning=True, reason=fault, action="Sync")
    new = observed.node_set.status.node_set_hash != judged.revision
    if judged.best_effort and new and observed.node_set.spec.replicas:
        yield Tell(warning=True, reason=BEST_EFFORT, action="Sync")


def _tell_refusal(observed: Observed, refused: Refusal | None) -> Iterator[Action]:
    """Once; events keep the words of Slinky."""
    if refused is None or refused.passes or told(observed.node_set, refused.reason):
        return
    reason = refused.reason
    if reason.code in ("ControllerMissing", "ControllerElsewhere"):
        reason = Reason("ControllerRefFailed", reason.sentence)
    yield Tell(warning=True, reason=reason, action="Sync")
