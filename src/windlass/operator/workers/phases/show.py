"""What Slurm says of a worker, shown on its pod: its state as conditions. Pure.

Where Slurm did not answer, or has not registered what runs in the pod, nothing here is a guess:
conditions of an absent node go, and all of them stay as they were while Slurm is silent.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from windlass.kube.kinds import POD
from windlass.kube.meta import Condition
from windlass.kube.objects import Pod
from windlass.operator.plan import AtOnce, ShowConditions
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.facts import finished, going
from windlass.slurm.model import Node
from windlass.values.states import NodeState

PREFIX: Final = "SlurmNodeState"
BASES: Final = {
    "ALLOCATED": "Allocated",
    "DOWN": "Down",
    "ERROR": "Error",
    "FUTURE": "Future",
    "IDLE": "Idle",
    "MIXED": "Mixed",
    "UNKNOWN": "Unknown",
}
FLAGS: Final = {
    "COMPLETING": "Completing",
    "DRAIN": "Drain",
    "FAIL": "Fail",
    "INVALID": "Invalid",
    "INVALID_REG": "InvalidReg",
    "MAINTENANCE": "Maintenance",
    "NOT_RESPONDING": "NotResponding",
    "UNDRAIN": "Undrain",
}


def show(course: Pass) -> Outcome:
    if course.slurm is None:
        return NOTHING
    steps = tuple(
        step
        for each in course.workers
        if not (going(each.pod) or finished(each.pod))
        for step in _shown(each.pod, each.node, course.now)
    )
    return Outcome(actions=(AtOnce(steps),)) if steps else NOTHING


def types(state: NodeState) -> list[str]:
    """The conditions of a state, the base first."""
    flags = (name for word, name in FLAGS.items() if state.has(word))
    return [f"{PREFIX}{name}" for name in (BASES[state.base], *flags)]


def _shown(pod: Pod, node: Node | None, now: datetime) -> Iterator[ShowConditions]:
    found = {each.type: each for each in _ours(pod)}
    # A pod that is on no node has not registered: Slurm speaks of the one before it.
    wanted = types(node.state) if node and pod.spec.node_name else []
    reason = node.reason if node else ""
    if _said(found) == dict.fromkeys(wanted, ("True", reason)):
        return
    conditions = tuple(_condition(each, reason, found.get(each), now) for each in wanted)
    meta = pod.metadata
    yield ShowConditions(POD, meta.key, meta.uid, PREFIX, conditions)


def _ours(pod: Pod) -> Iterator[Condition]:
    return (each for each in pod.status.conditions or () if each.type.startswith(PREFIX))


def _said(found: Mapping[str, Condition]) -> dict[str, tuple[str, str]]:
    return {name: (each.status, each.message) for name, each in found.items()}


def _condition(type_: str, reason: str, old: Condition | None, now: datetime) -> dict[str, Any]:
    stays = old is not None and old.status == "True"
    since = (old.last_transition_time if old and stays else None) or now
    return {
        "type": type_,
        "status": "True",
        "message": reason,
        "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
