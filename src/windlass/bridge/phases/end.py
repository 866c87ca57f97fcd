"""Jobs end when nobody is left for whom they hold a place."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from windlass.bridge.gang import Gang
from windlass.bridge.observed import Observed, ended
from windlass.bridge.plan import EndJob, Outcome
from windlass.bridge.standing import Standing, occupied, pods_of
from windlass.kube.objects import ContainerEnd, Pod

NEEDS_ITS_OWNER: Final = "OwnerMissing"
SIGNAL: Final = 128
KILLED: Final = SIGNAL + 9
LATEST: Final = datetime.max.replace(tzinfo=UTC)


def end(seen: Observed, at: Standing) -> Iterator[EndJob]:
    for each in at.others:
        pods = pods_of(seen, each.job.id)
        if not occupied(each.job.id, seen):
            yield EndJob(each.job.id, outcome(pods))
    if at.current and at.current.job.state.pending and (why := _no_more_complete(seen.gang)):
        yield EndJob(at.current.job.id, Outcome(why))


def _no_more_complete(gang: Gang | None) -> str:
    """A gang that lost pods while it waited is submitted anew once it has them again."""
    if gang is None or gang.waits is None or gang.waits.code == NEEDS_ITS_OWNER:
        return ""
    return gang.waits.sentence


def outcome(pods: Sequence[Pod]) -> Outcome:
    """Of all pods of a job: the first that failed, if one did, for others fail because of it."""
    over = [pod for pod in pods if ended(pod)]
    if not over:
        return Outcome("its pods are gone")
    if failed := [pod for pod in over if pod.status.phase == "Failed" and not _cut_short(pod)]:
        return _failure(min(failed, key=_finished))
    for pod in pods:
        if not ended(pod):
            return Outcome(f"pod {pod.metadata.name} is lost with its node")
        if _cut_short(pod):
            return Outcome(f"pod {pod.metadata.name} was deleted")
    return Outcome(f"{_count(over)} succeeded", 0)


def _failure(pod: Pod) -> Outcome:
    """What has no code was ended from outside."""
    first = _first_failed(pod)
    code = _code(first) if first else KILLED
    starved = first is not None and first.reason == "OOMKilled"
    why = pod.status.reason or ("out of memory" if starved else f"exit code {code}")
    return Outcome(f"pod {pod.metadata.name} failed: {why}", code, starved)


def _cut_short(pod: Pod) -> bool:
    """Whether it was deleted before it had ended by itself."""
    at = pod.metadata.deletion_timestamp
    if at is None:
        return False
    grace = timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
    last = max((each.finished_at for each in _terminated(pod) if each.finished_at), default=None)
    return last is None or last >= at - grace


def _finished(pod: Pod) -> datetime:
    first = _first_failed(pod)
    return (first.finished_at if first else None) or LATEST


def _count(pods: Sequence[Pod]) -> str:
    return f"pod {pods[0].metadata.name}" if len(pods) == 1 else f"{len(pods)} pods"


def _first_failed(pod: Pod) -> ContainerEnd | None:
    """In time: the others of a pod are killed when it is over."""
    failed = [each for each in _terminated(pod) if _code(each)]
    return min(failed, key=lambda each: each.finished_at or LATEST, default=None)


def _code(container: ContainerEnd) -> int:
    return container.exit_code or (SIGNAL + container.signal if container.signal else 0)


def _terminated(pod: Pod) -> list[ContainerEnd]:
    every = (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
    return [one.state.terminated for one in every if one.state and one.state.terminated]
