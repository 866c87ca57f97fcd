"""Who is to leave goes as soon as no job can be in it; until then it is said for whom we wait."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from windlass.kube.kinds import POD
from windlass.operator.plan import Action, AtOnce, Delete, Retire
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.facts import going, unplaced
from windlass.operator.workers.worker import Worker
from windlass.slurm.model import UNLIMITED
from windlass.values.reason import Reason

CODES: Final = {"ScaleIn": "ScalingDown", "Update": "RollingUpdate"}
SHOWN: Final = 3


def retire(course: Pass) -> Outcome:
    leaving = [each for each in course.workers if _leaves(course, each)]
    if not leaving:
        return NOTHING
    fresh = [each for each in leaving if unplaced(each.pod)]
    placed = [each for each in leaving if not unplaced(each.pod)]
    seen = course.slurm
    if seen is None:
        actions = _never_ran(course, fresh)
        waits = (_silent(course, placed),) if placed else ()
        return Outcome(actions=actions, waits=waits)
    unknown = [each for each in placed if each.node is None]
    free = [each for each in placed if each.node is not None and seen.free(each.name)]
    busy = [each for each in placed if each.node is not None and not seen.free(each.name)]
    actions = (
        *_never_ran(course, fresh),
        *_retired(course, free, unknown=False),
        *_retired(course, unknown, unknown=True),
    )
    return Outcome(actions=actions, waits=(_draining(course, busy),) if busy else ())


def _leaves(course: Pass, worker: Worker) -> bool:
    return worker.pod.metadata.name in course.found.leave and not going(worker.pod)


def _never_ran(course: Pass, workers: Sequence[Worker]) -> tuple[Action, ...]:
    """A pod that we saw on no node may be on one by now: it goes only if nothing has changed."""
    gone = tuple(
        Delete(
            POD,
            each.pod.metadata.key,
            each.pod.metadata.uid,
            course.found.leave[each.pod.metadata.name],
            each.pod.metadata.resource_version,
        )
        for each in workers
    )
    return (AtOnce(gone),) if gone else ()


def _retired(course: Pass, workers: Sequence[Worker], *, unknown: bool) -> tuple[Action, ...]:
    if not workers:
        return ()
    cause = course.found.leave[workers[0].pod.metadata.name]
    state = "Slurm does not know them" if unknown else "drained, and no job is on them"
    reason = Reason(CODES.get(cause.code, cause.code), f"workers go, {state}")
    return (Retire(tuple(each.leaving for each in workers), reason, unknown),)


def _silent(course: Pass, workers: Sequence[Worker]) -> Reason:
    names = ", ".join(each.pod.metadata.name for each in workers[:SHOWN])
    cluster = course.observed.node_set.spec.controller_ref.name
    sentence = (
        f"{len(workers)} workers that should go ({names}) stay, since Slurm does not answer; "
        f"it is asked through the RestApi of Controller {cluster}"
    )
    return Reason("SlurmSilent", sentence)


def _draining(course: Pass, workers: Sequence[Worker]) -> Reason:
    shown = "; ".join(_busy(each) for each in workers[:SHOWN])
    more = f"; and {len(workers) - SHOWN} more" if len(workers) > SHOWN else ""
    total = len(course.workers)
    return Reason("Draining", f"{len(workers)} of {total} workers draining: {shown}{more}")


def _busy(worker: Worker) -> str:
    if not worker.jobs:
        state = worker.node.state if worker.node else "unknown"
        return f"{worker.pod.metadata.name} is {state}"
    number = len(worker.jobs)
    jobs = "1 job" if number == 1 else f"{number} jobs"
    return f"{worker.pod.metadata.name} runs {jobs}, {_last_end(worker)}"


def _last_end(worker: Worker) -> str:
    last = ends_at(worker)
    if last is None:
        return "with no time limit"
    return f"the last ends by {datetime.fromtimestamp(last, UTC):%Y-%m-%d %H:%M} UTC"


def ends_at(worker: Worker) -> int | None:
    """When the last of its jobs is over; None where one has no limit."""
    ends = [job.ends_at for job in worker.jobs.values() if job.time_limit != UNLIMITED]
    known = [each for each in ends if each]
    return max(known) if known and len(known) == len(worker.jobs) else None
