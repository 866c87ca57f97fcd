"""Jobs that hold a worker that is to go for longer than the user allows: he is told, and only if he
has said so beforehand they are put back into the queue."""

from collections.abc import Iterator

from windlass.api import durations
from windlass.operator.plan import RequeueJobs
from windlass.operator.workers.course import NOTHING, Outcome, Pass, soonest
from windlass.operator.workers.facts import going
from windlass.operator.workers.worker import Worker
from windlass.slurm.model import Job
from windlass.values.reason import Reason


def overdue(course: Pass) -> Outcome:
    drain = course.observed.node_set.spec.drain
    if course.slurm is None or drain.deadline is None:
        return NOTHING
    allowed = durations.seconds(drain.deadline)
    held = list(_held(course))
    late = [each for each, since in held if since >= allowed]
    again = soonest(*(allowed - since for _, since in held if since < allowed))
    if not late:
        return Outcome(again=again)
    names = ", ".join(each.pod.metadata.name for each in late[:3])
    sentence = f"jobs hold {len(late)} workers for longer than {drain.deadline}: {names}"
    fault = Reason("DrainOverdue", sentence)
    jobs = tuple(sorted({job.id for each in late for job in each.jobs.values() if _runs(job)}))
    why = Reason("DrainOverdue", f"they held workers for longer than {drain.deadline}")
    actions = (RequeueJobs(jobs, why),) if drain.requeue_jobs and jobs else ()
    return Outcome(actions=actions, faults=(fault,), again=again)


def _runs(job: Job) -> bool:
    """Whether there is something to put back: one that completes holds its node, and is over."""
    return not job.state.completing


def _held(course: Pass) -> Iterator[tuple[Worker, float]]:
    """Workers that are to go and have jobs, and for how many seconds we have drained them."""
    for each in course.workers:
        leaving = each.pod.metadata.name in course.found.leave and not going(each.pod)
        if not (leaving and each.jobs and each.drained_by_us and each.node):
            continue
        since = each.node.reason_at
        if since:
            yield each, course.now.timestamp() - since
