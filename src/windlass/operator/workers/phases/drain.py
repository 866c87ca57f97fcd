"""Drains what shall take no new job, and gives back what we drained without a cause any more.

What an administrator drained, set down or gave a reason to is his: it is neither drained over nor
given back. We know our own by how their reasons begin.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from windlass.operator.plan import Action, ChangeNodes
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.facts import finished, going, ready_since
from windlass.operator.workers.worker import OURS, Worker, ours
from windlass.slurm.specs import NodeUpdate
from windlass.values.reason import Reason

GIVEN_BACK: Final = Reason("Undrain", "the cause of its drain is over")
BACK: Final = Reason("Resume", "its pod runs again")
AGAIN: Final = 2.0
"""Seconds until it is chosen anew where a job kept a worker: it may be over before it is seen."""


def drain(course: Pass) -> Outcome:
    if course.slurm is None:
        return NOTHING
    wanted = {**course.found.drain, **course.found.leave}
    workers = [each for each in course.workers if not (going(each.pod) or finished(each.pod))]
    drains = tuple(_drains(_pairs(workers, wanted), course.found.if_idle))
    return Outcome(
        actions=(
            # What is given back comes first, or an update would have more than its share.
            *_changes("UNDRAIN", GIVEN_BACK, (w for w in workers if _returns(w, wanted))),
            *_changes("RESUME", BACK, (w for w in workers if _resumes(w, wanted))),
            *drains,
        ),
        waits=tuple(_foreign(workers, wanted)),
        again=AGAIN if any(each.if_idle for each in drains) else None,
    )


def reason_of(cause: Reason) -> str:
    return f"{OURS}{cause.sentence}"


def _pairs(workers: Iterable[Worker], wanted: dict[str, Reason]) -> Iterator[tuple[Worker, Reason]]:
    for worker in workers:
        cause = wanted.get(worker.pod.metadata.name)
        if cause is not None and _must_drain(worker, cause):
            yield worker, cause


def _must_drain(worker: Worker, cause: Reason) -> bool:
    node = worker.node
    if node is None or (node.reason and not ours(node.reason)):
        return False
    if node.state.drain:  # without a reason it was drained by somebody else
        return ours(node.reason) and node.reason != reason_of(cause)
    # A node that is down gets no job; its reason says why it is down.
    return not node.state.down


def _drains(
    found: Iterable[tuple[Worker, Reason]], if_idle: frozenset[str]
) -> Iterator[ChangeNodes]:
    """One call for each reason, and one for those whom a job that has come keeps."""
    alike: dict[tuple[Reason, bool], list[str]] = {}
    for worker, cause in found:
        alike.setdefault((cause, worker.pod.metadata.name in if_idle), []).append(worker.name)
    for (cause, only_idle), names in alike.items():
        update = NodeUpdate(state="DRAIN", reason=reason_of(cause))
        yield ChangeNodes(tuple(names), update, cause, only_idle)


def _changes(state: str, why: Reason, workers: Iterable[Worker]) -> Iterator[Action]:
    names = tuple(each.name for each in workers)
    if names:
        yield ChangeNodes(names, NodeUpdate(state=state), why)


def _returns(worker: Worker, wanted: dict[str, Reason]) -> bool:
    """Whether we drained it, and without a cause by now.

    Not while it is down: Slurm would keep our reason, as that of its being down.
    """
    if worker.node is None or worker.node.state.down:
        return False
    return bool(worker.drained_by_us) and worker.pod.metadata.name not in wanted


def _resumes(worker: Worker, wanted: dict[str, Reason]) -> bool:
    """Whether a pod that went, and set its node down, has come back and registered.

    If we had drained it as well, this ends the drain, too.
    """
    node, since = worker.node, ready_since(worker.pod)
    if node is None or since is None or worker.pod.metadata.name in wanted:
        return False
    left = node.state.down and ours(node.reason)
    return left and not node.state.not_responding and _registered(worker)


def _registered(worker: Worker) -> bool:
    """Whether slurmd has started since the pod did: before that Slurm speaks of the one before."""
    started, begun = worker.pod.status.start_time, worker.node and worker.node.slurmd_started_at
    return bool(started and begun and begun >= int(started.timestamp()))


def _foreign(workers: Iterable[Worker], wanted: dict[str, Reason]) -> Iterator[Reason]:
    """Who should be drained and cannot be, since somebody else has given its node a reason."""
    for worker in workers:
        node = worker.node
        if node is None or worker.pod.metadata.name not in wanted:
            continue
        if node.reason and not (ours(node.reason) or node.state.drain or node.state.down):
            sentence = (
                f"{worker.name} is not drained, since an administrator gave it the reason "
                f"{node.reason!r}; drain it, or take the reason away"
            )
            yield Reason("ReasonOfOthers", sentence)
