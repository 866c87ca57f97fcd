"""Slurm nodes of our workers say that they are ours, or nobody may remove them later.

slurmd says so when a node joins for the first time; Slurm does not listen when it comes back. So
what is wrong is the word of a set that had the name before, or none, of a worker of old. What an
administrator wrote there stays.
"""

from typing import Final

from windlass.operator.plan import ChangeNodes
from windlass.operator.workers.belonging import Belonging, belonging, owner, read
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.facts import ready_since
from windlass.operator.workers.worker import Worker
from windlass.slurm.specs import NodeUpdate
from windlass.values.reason import Reason

SETTLED: Final = 30.0
"""Seconds in which more of them may come up, to be named in the same call."""
AT_LAST: Final = 300.0
WHY: Final = Reason("SlurmNodeOwned", "they are workers of this NodeSet")


def belong(course: Pass) -> Outcome:
    if course.slurm is None:
        return NOTHING
    mine = belonging(course.observed.node_set.metadata)
    others = frozenset(each.uid for each in course.observed.siblings) - {mine.uid}
    lacking = [each for each in course.staying if _lacks(each, mine, others)]
    if not lacking:
        return NOTHING
    ages = [_ready_for(course, each) for each in lacking]
    if min(ages) < SETTLED and max(ages) < AT_LAST:
        return Outcome(again=SETTLED - min(ages))
    names = tuple(each.name for each in lacking)
    return Outcome(actions=(ChangeNodes(names, NodeUpdate(extra=str(mine)), WHY),))


def _ready_for(course: Pass, worker: Worker) -> float:
    since = ready_since(worker.pod)
    return (course.now - since).total_seconds() if since else 0.0


def _lacks(worker: Worker, mine: Belonging, others: frozenset[str]) -> bool:
    node = worker.node
    if node is None or ready_since(worker.pod) is None or owner(node) == mine:
        return False
    said = read(node.extra)
    # Two sets that want one name would take it from each other for ever.
    return not node.extra or (said is not None and said.uid not in others)
