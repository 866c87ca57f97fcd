"""A place that Slurm gave and Kubernetes has no use for is given back, and another asked for.

Whoever was bound stays, and the rest waits: a job that runs cannot be moved.
"""

from datetime import timedelta
from typing import Final

from windlass.bridge.ground import UNSUITABLE
from windlass.bridge.observed import Observed
from windlass.bridge.phases.bind import Binding
from windlass.bridge.plan import EndJob, Outcome
from windlass.bridge.standing import occupied
from windlass.slurm.model import Job

PATIENCE: Final = timedelta(seconds=30)
"""What is in the way may be about to go."""


def give_back(seen: Observed, job: Job, binding: Binding) -> EndJob | None:
    reasons = [reason for _, reason in binding.waiting if reason.code in UNSUITABLE]
    if not reasons or occupied(job.id, seen):
        return None
    if not job.started_at or seen.now.timestamp() - job.started_at < PATIENCE.total_seconds():
        return None
    return EndJob(job.id, Outcome(f"it is asked for anew, since {reasons[0].sentence}"))
