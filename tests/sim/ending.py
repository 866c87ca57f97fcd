"""Whether the cluster is as its NodeSet wants it."""

from typing import Any

from tests.sim.kubelets import is_ready
from tests.sim.slurmds import OURS
from tests.sim.stage import SET, Stage
from windlass.api import labels
from windlass.kube import kinds
from windlass.slurm.wire import WireNode

Json = dict[str, Any]


def unsettled(stage: Stage) -> str | None:
    """What is not right yet; None if nothing."""
    if stage.slurmds.busy:
        return "jobs run"
    if not stage.processes.leading:
        return "nobody leads"
    if stage.slurm.cluster.reservations:
        return "a reservation is left"
    if stage.node_set is None:
        return _gone(stage)
    node_set = stage.node_set
    return (
        _pods(stage, node_set)
        or _slurm(stage, node_set)
        or _status(stage, node_set)
        or stage.judge.claims.unwanted()
    )


def _gone(stage: Stage) -> str | None:
    if stage.live(kinds.NODE_SET, SET) is not None:
        return "the NodeSet is not gone"
    if stage.pods:
        return f"{min(stage.pods)} is left of a NodeSet that is gone"
    nodes = stage.slurm.cluster.nodes.values()
    left = [node.name for node in nodes if node.reason.startswith(OURS)]
    return f"Slurm knows {min(left)} of a NodeSet that is gone" if left else None


def _by_number(node_set: Json) -> bool:
    return bool(node_set["spec"].get("scalingMode") != "DaemonSet")


def _pods(stage: Stage, node_set: Json) -> str | None:
    pods = stage.pods
    wanted = node_set["spec"]["replicas"] if _by_number(node_set) else len(stage.pool)
    if len(pods) != wanted:
        return f"{len(pods)} workers are there, {wanted} are wanted"
    unready = [name for name, pod in pods.items() if not is_ready(pod) or _going(pod)]
    if unready:
        return f"{unready[0]} is not ready"
    if not _by_number(node_set) and {pod["spec"]["nodeName"] for pod in pods.values()} - stage.pool:
        return "a worker is where none should be"
    newest = node_set.get("status", {}).get("nodeSetHash")
    revisions = {name: pod["metadata"]["labels"][labels.REVISION] for name, pod in pods.items()}
    old = [name for name, revision in revisions.items() if revision != newest]
    return f"{old[0]} is of an old revision" if old else None


def _going(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _slurm(stage: Stage, node_set: Json) -> str | None:
    nodes = stage.slurm.cluster.nodes
    for name, pod in stage.pods.items():
        node = nodes.get(pod["spec"]["hostname"])
        if node is None:
            return f"{name} is not known to Slurm"
        bad = {"DRAIN", "DOWN", "NOT_RESPONDING", "FAIL"} & set(node.state or ())
        if bad:
            return f"{name} is left {'+'.join(sorted(bad))} with the reason {node.reason!r}"
        if node_set["metadata"]["uid"] not in node.extra:
            return f"the Slurm node of {name} does not say whose it is"
        if _features(stage.nodes[pod["spec"]["nodeName"]]) != _features_in_slurm(node):
            return f"the Slurm node of {name} has the features {node.features}"
    return _left(stage, node_set) if _by_number(node_set) else None


def _features(host: Json) -> set[str]:
    given = (host["metadata"].get("annotations") or {}).get(labels.FEATURES, "")
    return {f"k8s/{each}" for each in given.split(",") if each}


def _features_in_slurm(node: WireNode) -> set[str]:
    return {each for each in node.active_features or () if each.startswith("k8s/")}


def _left(stage: Stage, node_set: Json) -> str | None:
    """Of what says that it belongs to the set, Slurm has to forget what is no worker any more."""
    there = {pod["spec"]["hostname"] for pod in stage.pods.values()}
    ours = [
        node.name
        for node in stage.slurm.cluster.nodes.values()
        if node_set["metadata"]["uid"] in node.extra and node.name not in there
    ]
    return f"Slurm still knows {ours[0]}" if ours else None


def _status(stage: Stage, node_set: Json) -> str | None:
    shown = node_set.get("status", {})
    if shown.get("observedGeneration") != node_set["metadata"]["generation"]:
        return "the status is of an old generation"
    counts = {name: shown.get(name) for name in ("replicas", "readyReplicas", "slurmIdle")}
    wrong = [name for name, count in counts.items() if count != len(stage.pods)]
    return f"the status says {wrong[0]} {counts[wrong[0]]}" if wrong else None
