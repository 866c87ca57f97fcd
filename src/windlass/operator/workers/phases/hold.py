"""A NodeSet with workers, or with a partition that jobs may name, stays until both are rid of it.

A slurmctld whose configuration loses a partition kills the jobs in it.
"""

from windlass.api import labels
from windlass.kube.kinds import NODE_SET
from windlass.operator.plan import Finalize
from windlass.operator.workers.course import NOTHING, Outcome, Pass


def hold(course: Pass) -> Outcome:
    node_set = course.observed.node_set
    meta, partition = node_set.metadata, node_set.spec.partition.enabled
    needed = bool(course.observed.pods or course.found.make or partition)
    if not needed or labels.WORKERS in (meta.finalizers or ()):
        return NOTHING
    return Outcome(actions=(Finalize(NODE_SET, meta.key, meta.uid, add=(labels.WORKERS,)),))
