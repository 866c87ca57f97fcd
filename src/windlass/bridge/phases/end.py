"""Jobs end when nobody is left for whom they hold a place."""

from collections.abc import Iterator, Sequence

from windlass.bridge.gang import Gang
from windlass.bridge.observed import Observed, ended
from windlass.bridge.plan import EndJob, Outcome
from windlass.bridge.standing import Standing, occupies, pods_of
from windlass.kube.objects import ContainerEnd, Pod

NEEDS_ITS_OWNER = "OwnerMissing"
KILLED = 137


def end(seen: Observed, at: Standing) -> Iterator[EndJob]:
    for each in at.others:
        pods = pods_of(seen, each.job.id)
        if not any(occupies(pod, seen) for pod in pods):
            yield EndJob(each.job.id, outcome(pods))
    if at.current and at.current.job.state.pending and (why := _no_more_complete(seen.gang)):
        yield EndJob(at.current.job.id, Outcome(why))


def _no_more_complete(gang: Gang | None) -> str:
    """A gang that lost pods while it waited is submitted anew once it has them again."""
    if gang is None or gang.waits is None or gang.waits.code == NEEDS_ITS_OWNER:
        return ""
    return gang.waits.sentence


def outcome(pods: Sequence[Pod]) -> Outcome:
    """Of all pods of a job: the first failure, if there is one."""
    over = [pod for pod in pods if ended(pod)]
    failed = [pod for pod in over if pod.status.phase == "Failed"]
    if not over:
        return Outcome("its pods are gone")
    if not failed:
        return Outcome(f"{_count(over)} succeeded", 0)
    pod = failed[0]
    code = _code(pod)
    why = pod.status.reason or f"exit code {code}"
    return Outcome(f"pod {pod.metadata.name} failed: {why}", code)


def _count(pods: Sequence[Pod]) -> str:
    return f"pod {pods[0].metadata.name}" if len(pods) == 1 else f"{len(pods)} pods"


def _code(pod: Pod) -> int:
    """Of the first container that failed; what has none was ended from outside."""
    codes = [each.exit_code for each in _terminated(pod) if each.exit_code]
    return codes[0] if codes else KILLED


def _terminated(pod: Pod) -> list[ContainerEnd]:
    every = (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
    return [one.state.terminated for one in every if one.state and one.state.terminated]
