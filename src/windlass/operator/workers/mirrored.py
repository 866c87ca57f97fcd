"""What Slurm says of a worker, shown on its pod: conditions, and the label that protects it. Pure.

Where Slurm did not answer, or has not registered what runs in the pod, nothing here is a guess:
conditions of an absent node go, protection stays until Slurm says that the node is not busy.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import POD
from windlass.kube.meta import Condition
from windlass.kube.objects import Pod
from windlass.operator.plan import Action, Label, ShowConditions
from windlass.operator.workers.facts import finished, going
from windlass.operator.workers.identity import slurm_name
from windlass.operator.workers.observe import Observed
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
PROTECTED: Final = "true"


def marks(observed: Observed, now: datetime) -> Iterator[Action]:
    """Protection first, since an eviction may be on its way."""
    workers = [pod for pod in observed.pods if not (going(pod) or finished(pod))]
    for pod in workers:
        yield from _protection(observed.node_set, pod, observed.slurm)
    if observed.slurm is not None:
        for pod in workers:
            yield from _shown(pod, observed.slurm.get(slurm_name(pod)), now)


# --- conditions ----------------------------------------------------------------------------


def types(state: NodeState) -> list[str]:
    """The conditions of a state, the base first."""
    flags = (name for word, name in FLAGS.items() if state.has(word))
    return [f"{PREFIX}{name}" for name in (BASES[state.base], *flags)]


def _shown(pod: Pod, node: Node | None, now: datetime) -> Iterator[Action]:
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


# --- protection ----------------------------------------------------------------------------


def _protection(node_set: NodeSet, pod: Pod, slurm: Mapping[str, Node] | None) -> Iterator[Action]:
    label = (pod.metadata.labels or {}).get(labels.POD_PROTECT)
    busy = _busy(slurm, slurm_name(pod))
    if not node_set.spec.workload_disruption_protection:
        busy = False
    wanted = label if busy is None else PROTECTED if busy else None
    if label != wanted:
        meta = pod.metadata
        yield Label(POD, meta.key, meta.uid, {labels.POD_PROTECT: wanted})


def _busy(slurm: Mapping[str, Node] | None, name: str) -> bool | None:
    """Whether a job is there; None where Slurm does not say so, nor that there is none."""
    node = (slurm or {}).get(name)
    if node is None or (node.state.base == "UNKNOWN" and not node.state.busy):
        return None
    return node.state.busy
