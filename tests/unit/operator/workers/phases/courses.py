"""A pass to give to one phase, with what the phases before it found."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from tests.unit.operator.workers.observed import NOW, node_set, observed
from windlass.api.node_set import NodeSet
from windlass.kube.objects import Node as Host
from windlass.operator.plan import AtOnce, ChangeNodes, Step
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.pod import mould
from windlass.operator.workers.revision import revision
from windlass.operator.workers.worker import workers
from windlass.values.reason import Reason


def course(
    of: NodeSet | None = None, found: Outcome = NOTHING, now: datetime = NOW, **more: Any
) -> Pass:
    seen = observed(of or node_set(), **more)
    assert seen.membership is not None
    wanted = revision(seen.node_set, None)
    return Pass(seen, now, wanted, mould(seen, seen.membership, wanted), workers(seen), found)


def leaving(*pods: str, code: str = "ScaleIn", why: str = "NodeSet (hpc/w) scales in") -> Outcome:
    return Outcome(leave=dict.fromkeys(pods, Reason(code, why)))


def draining(**pods: str) -> Outcome:
    named = {name.replace("_", "-"): Reason("Cause", why) for name, why in pods.items()}
    return Outcome(drain=named)


def steps(found: Outcome) -> list[Step]:
    return [
        step
        for action in found.actions
        for step in (action.actions if isinstance(action, AtOnce) else (action,))
    ]


def changes(found: Outcome) -> list[tuple[str | None, str | None, list[str]]]:
    """The state, the reason and the names of each call to Slurm."""
    return [
        (step.update.state, step.update.reason, list(step.names))
        for step in steps(found)
        if isinstance(step, ChangeNodes)
    ]


def host(name: str, *, cordoned: bool = False, **more: Any) -> Host:
    metadata = {
        "name": name,
        "labels": more.get("labels", {}),
        "annotations": more.get("annotations", {}),
    }
    spec = {"unschedulable": cordoned, "taints": more.get("taints", [])}
    status = {"conditions": more.get("conditions", [])}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Host)


def hosts(*given: Host) -> Mapping[str, Host]:
    return {each.metadata.name: each for each in given}
