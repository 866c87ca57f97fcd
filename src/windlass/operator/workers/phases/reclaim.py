"""A worker that waits for a claim of its own gets it, if the claim is not there: it could not be
made with the pod, or somebody deleted it."""

from collections.abc import Iterator

from windlass.kube.kinds import PERSISTENT_VOLUME_CLAIM
from windlass.kube.objects import Pod
from windlass.operator.plan import AtOnce, Create
from windlass.operator.pods.trouble import unplaced
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.identity import Identity, host_of, identity, identity_on, ordinal_of
from windlass.operator.workers.volumes import claims, mounted


def reclaim(course: Pass) -> Outcome:
    steps = tuple(
        Create(PERSISTENT_VOLUME_CLAIM, claim)
        for each in course.staying
        if (missing := frozenset(_missing(each.pod))) and (who := _who(course, each.pod))
        for claim in claims(course.observed.node_set, who)
        if claim["metadata"]["name"] in missing
    )
    return Outcome(actions=(AtOnce(steps),)) if steps else NOTHING


def _missing(pod: Pod) -> Iterator[str]:
    """The claims that the scheduler does not find; it looks later than our watch, and better."""
    trouble = unplaced(pod)
    if trouble is not None:
        for name in mounted(pod):
            if f'persistentvolumeclaim "{name}" not found' in trouble.sentence:
                yield name


def _who(course: Pass, pod: Pod) -> Identity | None:
    observed, number = course.observed, ordinal_of(pod)
    if observed.on_every_host:
        host = observed.hosts.get(host_of(pod))
        return identity_on(observed.node_set, host) if host else None
    return identity(observed.node_set, number) if number is not None else None
