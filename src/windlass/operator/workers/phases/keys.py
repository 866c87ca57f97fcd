"""New keys reach the workers that run: slurmd reads them again when it is reconfigured."""

from windlass.api import labels
from windlass.operator.plan import AtOnce
from windlass.operator.pods.refreshing import refreshed
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.pod import key_hash


def keys(course: Pass) -> Outcome:
    cluster = course.observed.membership
    if cluster is None:
        return NOTHING
    running = (each.pod for each in course.workers if each.pod.spec.node_name)
    steps = tuple(refreshed(running, labels.SLURM_KEY_HASH, key_hash(cluster)))
    return Outcome(actions=(AtOnce(steps),)) if steps else NOTHING
