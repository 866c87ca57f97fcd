"""What a NodeSet says of itself."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from windlass.kube.objects import Pod
from windlass.operator.conditions import conditions
from windlass.operator.workers import words
from windlass.operator.workers.facts import available_in, ready_since
from windlass.operator.workers.identity import slurm_name
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.past import name_of
from windlass.operator.workers.pins import pins
from windlass.operator.workers.revision import revision_of
from windlass.operator.workers.verdicts import Counts, Judged, verdicts
from windlass.values.states import NodeState


def status(observed: Observed, judged: Judged, now: datetime) -> dict[str, Any]:
    node_set = observed.node_set
    meta, old = node_set.metadata, node_set.status
    counts = _counts(observed, judged.revision, now)
    selector = words.selector_labels(meta)
    said: dict[str, Any] = {
        "replicas": counts.replicas,
        "updatedReplicas": counts.updated,
        "readyReplicas": counts.ready,
        "availableReplicas": counts.available,
        "unavailableReplicas": max(0, observed.desired - counts.available),
        "desired": observed.desired,
        **_slurm(observed),
        "observedGeneration": meta.generation,
        "nodeSetHash": judged.revision,
        "selector": ",".join(f"{name}={value}" for name, value in selector.items()),
        "conditions": conditions(
            old.conditions, verdicts(observed, judged, counts), meta.generation, now
        ),
    }
    if collisions := judged.collisions or old.collision_count:
        said["collisionCount"] = collisions
    said |= _revisions(observed, judged, counts)
    if pinned := pins(observed):
        said["ordinalToNode"] = pinned
    return said


def _revisions(observed: Observed, judged: Judged, counts: Counts) -> dict[str, str]:
    """The one that workers get, and the one that all of them had last."""
    old = observed.node_set.status
    if judged.refused is not None:
        kept = {"updateRevision": old.update_revision, "currentRevision": old.current_revision}
        return {name: value for name, value in kept.items() if value}
    wanted = name_of(observed.node_set, judged.revision)
    reached = counts.updated == counts.replicas >= observed.desired
    last = wanted if reached else old.current_revision or wanted
    return {"updateRevision": wanted, "currentRevision": last}


def next_available(observed: Observed, now: datetime) -> float | None:
    """When the next ready worker will have been ready for long enough."""
    waits = [seconds for _, seconds in _availability(observed, now) if seconds]
    return min(waits, default=None)


def _counts(observed: Observed, revision: str, now: datetime) -> Counts:
    return Counts(
        replicas=len(observed.pods),
        updated=sum(revision_of(pod) == revision for pod in observed.pods),
        ready=sum(ready_since(pod) is not None for pod in observed.pods),
        available=sum(seconds == 0 for _, seconds in _availability(observed, now)),
    )


def _availability(observed: Observed, now: datetime) -> Iterator[tuple[Pod, float | None]]:
    least = observed.node_set.spec.min_ready_seconds
    return ((pod, available_in(pod, least, now)) for pod in observed.pods)


def _slurm(observed: Observed) -> dict[str, int]:
    """How many of its nodes are in which state; as before where Slurm did not answer."""
    old = observed.node_set.status
    if observed.slurm is None:
        return {
            "slurmIdle": old.slurm_idle,
            "slurmAllocated": old.slurm_allocated,
            "slurmDown": old.slurm_down,
            "slurmDrain": old.slurm_drain,
        }
    names = (slurm_name(pod) for pod in observed.pods)
    nodes = observed.slurm.nodes
    states: list[NodeState] = [nodes[each].state for each in names if each in nodes]
    return {
        "slurmIdle": sum(state.base == "IDLE" for state in states),
        "slurmAllocated": sum(state.base in ("ALLOCATED", "MIXED") for state in states),
        "slurmDown": sum(state.base == "DOWN" for state in states),
        "slurmDrain": sum(state.drain for state in states),
    }
