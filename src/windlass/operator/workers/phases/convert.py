"""Workers from before the set was scaled in another way leave: numbered ones where every host shall
have one, those of hosts where they are numbered."""

from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.identity import mode_of
from windlass.operator.workers.phases.scale import of_the_set


def convert(course: Pass) -> Outcome:
    node_set = course.observed.node_set
    mode = node_set.spec.scaling_mode
    why = of_the_set(node_set, f"is scaled by {mode} now", "ScalingMode")
    others = (each.pod for each in course.staying if mode_of(each.pod) != mode)
    return Outcome(leave=dict.fromkeys((pod.metadata.name for pod in others), why))
