"""Which workers have to be made anew to be as they should."""

from windlass.api import labels
from windlass.kube.objects import Pod
from windlass.operator.workers.course import Pass
from windlass.operator.workers.revision import revision_of


def outdated(course: Pass, pod: Pod) -> bool:
    """Whether it is of an old revision, or its slurmd has started with settings that are no more.

    A pod that does not say with which it started is taken to have the present ones.
    """
    started = (pod.metadata.annotations or {}).get(labels.SLURM_CONFIG_HASH, "")
    present = course.observed.start_conf
    return revision_of(pod) != course.revision or bool(started and present and started != present)
