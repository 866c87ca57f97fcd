"""Whether the cluster is as its NodeSet wants it."""

from typing import Any

from tests.sim.kubelets import is_ready
from tests.sim.slurmds import NOT_RESPONDING
from tests.sim.stage import Stage
from windlass.api import labels
from windlass.operator.workers.worker import ours

Json = dict[str, Any]


def unsettled(stage: Stage) -> str | None:
    """What is not right yet; None if nothing."""
    if stage.slurmds.busy:
        return "jobs run"
    if not stage.processes.leading:
        return "nobody leads"
    return _pods(stage) or _slurm(stage) or _status(stage)


def _pods(stage: Stage) -> str | None:
    wanted, pods = stage.node_set["spec"]["replicas"], stage.pods
    if len(pods) != wanted:
        return f"{len(pods)} workers are there, {wanted} are wanted"
    unready = [name for name, pod in pods.items() if not is_ready(pod) or _going(pod)]
    if unready:
        return f"{unready[0]} is not ready"
    newest = stage.node_set.get("status", {}).get("nodeSetHash")
    old = [
        name for name, pod in pods.items() if pod["metadata"]["labels"][labels.REVISION] != newest
    ]
    return f"{old[0]} is of an old revision" if old else None


def _going(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _slurm(stage: Stage) -> str | None:
    for name, pod in stage.pods.items():
        node = stage.slurm.cluster.nodes.get(pod["spec"]["hostname"])
        if node is None:
            return f"{name} is not known to Slurm"
        bad = {"DRAIN", "DOWN", "NOT_RESPONDING", "FAIL"} & set(node.state or ())
        if bad:
            return f"{name} is left {'+'.join(sorted(bad))} with the reason {node.reason!r}"
    return _left_behind(stage)


def _left_behind(stage: Stage) -> str | None:
    """Records without a worker go, but for those that an administrator gave a reason to."""
    workers = {pod["spec"]["hostname"] for pod in stage.pods.values()}
    for name, node in stage.slurm.cluster.nodes.items():
        if name not in workers and (node.reason in ("", NOT_RESPONDING) or ours(node.reason)):
            return f"Slurm still knows {name}, which is no worker any more"
    return None


def _status(stage: Stage) -> str | None:
    shown = stage.node_set.get("status", {})
    if shown.get("observedGeneration") != stage.node_set["metadata"]["generation"]:
        return "the status is of an old generation"
    wanted = stage.node_set["spec"]["replicas"]
    counts = {name: shown.get(name) for name in ("replicas", "readyReplicas", "slurmIdle")}
    wrong = [name for name, count in counts.items() if count != wanted]
    return f"the status says {wrong[0]} {counts[wrong[0]]} of {wanted}" if wrong else None
