"""Missing workers are made, all at once, each after its claims."""

from windlass.kube.kinds import PERSISTENT_VOLUME_CLAIM, POD
from windlass.operator.plan import Action, AtOnce, Create, Tell
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.pod import worker_pod
from windlass.operator.workers.volumes import claims
from windlass.values.reason import Reason


def create(course: Pass) -> Outcome:
    made = course.found.make
    if not made:
        return NOTHING
    shape = course.shape
    there = {claim.name for claim in course.observed.claims}
    wanted = [
        claim
        for each in made
        for claim in claims(shape.node_set, each)
        if claim["metadata"]["name"] not in there
    ]
    actions: list[Action] = []
    if wanted:
        actions.append(AtOnce(tuple(Create(PERSISTENT_VOLUME_CLAIM, each) for each in wanted)))
    actions.append(AtOnce(tuple(Create(POD, worker_pod(shape, each)) for each in made)))
    first, last = made[0].pod, made[-1].pod
    named = first if len(made) == 1 else f"{first} to {last}"
    sentence = f"{len(made)} workers are made: {named}"
    actions.append(Tell(warning=False, reason=Reason("ScalingUp", sentence), action="ScaleUp"))
    return Outcome(actions=tuple(actions))
