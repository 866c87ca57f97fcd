"""Each revision is written down before workers get it; of the old ones some are kept."""

from collections.abc import Iterator, Sequence

from windlass.kube.kinds import CONTROLLER_REVISION
from windlass.kube.objects import ControllerRevision
from windlass.operator.plan import Action, Apply, AtOnce, Create, Delete
from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.past import hash_of, name_of, new, numbered
from windlass.operator.workers.revision import revision_of
from windlass.values.reason import Reason

FORGOTTEN = Reason("RevisionForgotten", "no worker has it, and there are newer ones to keep")


def history(course: Pass) -> Outcome:
    known = course.observed.revisions
    wanted = name_of(course.observed.node_set, course.revision)
    current = next((each for each in known if each.metadata.name == wanted), None)
    others = [each for each in known if each is not current and not _foreign(course, each)]
    return Outcome(actions=(*_kept(course, current, others), *_forgotten(course, others)))


def _foreign(course: Pass, known: ControllerRevision) -> bool:
    """Whether it belongs to a set of this name that is gone, and goes with it."""
    owner = known.metadata.controller
    return owner is not None and owner.uid != course.observed.node_set.metadata.uid


def _kept(
    course: Pass, current: ControllerRevision | None, others: Sequence[ControllerRevision]
) -> Iterator[Action]:
    """The newest number is the current one's, also where an old one has come back."""
    node_set, hash_ = course.observed.node_set, course.revision
    newest = max((each.revision for each in others), default=0)
    if current is None:
        yield Create(CONTROLLER_REVISION, new(node_set, hash_, newest + 1))
    elif not _foreign(course, current):
        number = current.revision if current.revision > newest else newest + 1
        if number != current.revision or current.metadata.controller is None:
            yield Apply(CONTROLLER_REVISION, numbered(node_set, hash_, number))


def _forgotten(course: Pass, others: Sequence[ControllerRevision]) -> Iterator[Action]:
    live = {revision_of(each.pod) for each in course.workers}
    old = sorted((each for each in others if hash_of(each) not in live), key=_number)
    surplus = old[: max(0, len(old) - course.observed.node_set.spec.revision_history_limit)]
    if surplus:
        gone = (each.metadata for each in surplus)
        yield AtOnce(
            tuple(Delete(CONTROLLER_REVISION, each.key, each.uid, FORGOTTEN) for each in gone)
        )


def _number(known: ControllerRevision) -> int:
    return known.revision
