"""Features of a host, as an annotation of it says, are features of its Slurm node: `k8s/<feature>`.

All features of that beginning are ours, and no others: those of slurm.conf, of the NodeSet and of
an administrator stay.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from windlass.api import labels
from windlass.kube.objects import Node as Host
from windlass.operator.plan import Action, ChangeNodes
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.worker import Worker
from windlass.slurm.model import Node
from windlass.slurm.specs import NodeUpdate
from windlass.values.reason import Reason

OURS: Final = "k8s/"
CHANGED: Final = Reason("Features", "their hosts have these features")
NONE: Final = ("",)
"""How Slurm is told that there is none: it takes an empty list for no change."""
# What a job can ask for without Slurm taking it for an expression.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:-]*")


def features(course: Pass) -> Outcome:
    if course.slurm is None:
        return NOTHING
    odd = sorted({each for worker in course.staying for each in _named(worker.host, good=False)})
    faults = (_odd(odd),) if odd else ()
    return Outcome(actions=tuple(_changes(course.staying)), faults=faults)


def _changes(workers: Iterable[Worker]) -> Iterator[Action]:
    """One call for those that become alike."""
    alike: dict[NodeUpdate, list[str]] = {}
    for worker in workers:
        if worker.host is None or worker.node is None:
            continue
        update = _update(worker.node, {f"{OURS}{each}" for each in _named(worker.host)})
        if update is not None:
            alike.setdefault(update, []).append(worker.name)
    for update, names in alike.items():
        yield ChangeNodes(tuple(names), update, CHANGED)


def _update(node: Node, wanted: set[str]) -> NodeUpdate | None:
    if _ours(node.features) == _ours(node.active_features) == wanted:
        return None
    return NodeUpdate(
        features=_with(node.features, wanted), active_features=_with(node.active_features, wanted)
    )


def _ours(features: Iterable[str]) -> set[str]:
    return {each for each in features if each.startswith(OURS)}


def _with(features: Iterable[str], wanted: set[str]) -> tuple[str, ...]:
    others = (each for each in features if not each.startswith(OURS))
    return (*others, *sorted(wanted)) or NONE


def _named(host: Host | None, *, good: bool = True) -> Iterator[str]:
    """What the annotation names; those that Slurm could not take only if asked for."""
    given = (host.metadata.annotations or {}).get(labels.FEATURES, "") if host else ""
    for word in given.split(","):
        name = word.strip()
        if name and (_NAME.fullmatch(name) is not None) == good:
            yield name


def _odd(names: list[str]) -> Reason:
    shown = ", ".join(repr(each) for each in names[:3])
    sentence = f"the annotation {labels.FEATURES} of nodes names what is no feature: {shown}"
    return Reason("FeaturesMalformed", sentence)
