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
from windlass.operator.workers.course import NOTHING, Outcome, Pass, soonest
from windlass.operator.workers.facts import finished, going
from windlass.operator.workers.worker import Worker
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
WITH_JOBS: Final = frozenset({"Allocated", "Completing", "Idle", "Mixed"})
"""What comes and goes with jobs."""
CALM: Final = 5.0
"""Seconds between two changes of a pod that only say that jobs have come or gone."""


def show(course: Pass) -> Outcome:
    if course.slurm is None:
        return NOTHING
    live = (each for each in course.workers if _stays_a_while(course, each))
    changed = [
        (step, waits(each.pod, course.now) if _only_jobs(each.pod, step) else 0.0)
        for each in live
        for step in _shown(each.pod, each.node, course.now)
    ]
    steps = tuple(step for step, wait in changed if not wait)
    again = soonest(*(wait for _, wait in changed if wait))
    return Outcome(actions=(AtOnce(steps),) if steps else (), again=again)


def _stays_a_while(course: Pass, worker: Worker) -> bool:
    """Whether somebody will read it: not on who leaves without a job to wait for."""
    if going(worker.pod) or finished(worker.pod):
        return False
    return worker.busy or worker.pod.metadata.name not in course.found.leave


def waits(pod: Pod, now: datetime) -> float:
    """Seconds until a pod whose jobs come and go may be written again; 0 if it may be now."""
    moments = [each.last_transition_time for each in _ours(pod) if each.last_transition_time]
    since = (now - max(moments)).total_seconds() if moments else CALM
    return max(0.0, CALM - since)


def _only_jobs(pod: Pod, step: ShowConditions) -> bool:
    """Whether nothing changes but that jobs have come or gone."""
    wanted = {(each["type"], each["message"]) for each in step.conditions}
    found = {(each.type, each.message) for each in _ours(pod)}
    return all(name.removeprefix(PREFIX) in WITH_JOBS for name, _ in wanted ^ found)


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
