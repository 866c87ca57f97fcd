"""New keys reach the workers that run: slurmd reads them again when it is reconfigured. And pods
that were made before slurm.conf was there are told with which settings they run."""

from windlass.api import labels
from windlass.kube.objects import Pod
from windlass.operator.plan import AtOnce
from windlass.operator.pods.refreshing import refreshed
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.pod import key_hash


def keys(course: Pass) -> Outcome:
    cluster = course.observed.membership
    if cluster is None:
        return NOTHING
    running = (each.pod for each in course.workers if each.pod.spec.node_name)
    known = course.observed.start_conf
    unsaid = (each.pod for each in course.workers if known and not _said(each.pod))
    steps = (
        *refreshed(running, labels.SLURM_KEY_HASH, key_hash(cluster)),
        *refreshed(unsaid, labels.SLURM_CONFIG_HASH, known),
    )
    return Outcome(actions=(AtOnce(steps),)) if steps else NOTHING


def _said(pod: Pod) -> bool:
    return labels.SLURM_CONFIG_HASH in (pod.metadata.annotations or {})
