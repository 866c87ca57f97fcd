"""A NodeSet that is being deleted: its workers drain and go, Slurm forgets them, and only then it
vanishes, and its partition with it.

Where the whole cluster goes there is nobody to wait for.
"""

from datetime import datetime
from typing import Final

from windlass.api import labels
from windlass.kube.kinds import NODE_SET
from windlass.operator.membership import Membership
from windlass.operator.plan import Action, Finalize, Plan, Tell
from windlass.operator.workers.course import Pass, Phase, run, soonest
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.phases.clear import clear
from windlass.operator.workers.phases.depart import depart, ending
from windlass.operator.workers.phases.drain import drain
from windlass.operator.workers.phases.overdue import overdue
from windlass.operator.workers.phases.protect import protect
from windlass.operator.workers.phases.retire import retire
from windlass.operator.workers.phases.show import show
from windlass.operator.workers.pod import Mould
from windlass.operator.workers.refusing import Refusal
from windlass.operator.workers.status import status
from windlass.operator.workers.verdicts import Judged, told
from windlass.operator.workers.worker import workers

PHASES: Final[tuple[Phase, ...]] = (
    *(protect, depart, drain, overdue, retire, ending, show, clear),
)
LOOK_AGAIN: Final = 10.0
"""Nobody tells of jobs that wait: who cancels the last one wakes nobody."""
OURS: Final = (labels.WORKERS, labels.RESERVATION)
"""The second is Slinky's, whose reservation we end as well."""


def farewell(observed: Observed, now: datetime) -> Plan:
    meta, cluster = observed.node_set.metadata, observed.membership
    if not set(OURS) & set(meta.finalizers or ()):
        return Plan()
    if cluster is None or _at_once(observed, cluster):
        return Plan((_release(observed),))
    return _wait(observed, cluster, now)


def _at_once(observed: Observed, cluster: Membership) -> bool:
    forced = (observed.node_set.metadata.annotations or {}).get(labels.FORCE_DELETE) == "true"
    return forced or cluster.controller.metadata.deletion_timestamp is not None


def _release(observed: Observed) -> Action:
    meta = observed.node_set.metadata
    return Finalize(NODE_SET, meta.key, meta.uid, remove=OURS)


def _wait(observed: Observed, cluster: Membership, now: datetime) -> Plan:
    at, last = cluster.controller.metadata, observed.node_set.status.node_set_hash
    shape = Mould(observed.node_set, at.name, last, {}, {})
    found = run(PHASES, Pass(observed, now, last, shape, workers(observed)))
    if not found.waits:
        return Plan((*found.actions, _release(observed)), slurm=at.key)
    reason = found.waits[0]
    judged = Judged(last, found, Refusal(reason, passes=True))
    news: tuple[Action, ...] = ()
    if not told(observed.node_set, reason):
        news = (Tell(warning=False, reason=reason, action="Delete"),)
    return Plan(
        (*found.actions, *news),
        status(observed, judged, now),
        soonest(found.again, LOOK_AGAIN),
        at.key,
    )
