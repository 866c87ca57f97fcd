"""What people see of a NodeSet's revisions and of its rollout, and how one goes back. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from windlass.api.common import Condition
from windlass.api.node_set import NodeSet
from windlass.kube.meta import Meta
from windlass.kube.objects import ControllerRevision
from windlass.operator.workers.past import FIELDS, fields, hash_of
from windlass.operator.workers.revision import payload

HEADINGS: Final = ("REVISION", "HASH", "AGE", "WORKERS", "IMAGE")


class NoSuchRevision(Exception):
    """There is nothing to go back to."""


# --- history ---------------------------------------------------------------------------------


def of_the_set(owner: Meta, found: Sequence[ControllerRevision]) -> list[ControllerRevision]:
    """Its own, the newest first."""
    own = [each for each in found if (of := each.metadata.controller) and of.uid == owner.uid]
    return sorted(own, key=lambda each: -each.revision)


def history(
    node_set: NodeSet,
    known: Sequence[ControllerRevision],
    workers: Mapping[str, int],
    now: datetime,
) -> str:
    """A table; `workers` says by hash how many pods have a revision."""
    if not known:
        return f"NodeSet {node_set.metadata.name} has no revisions yet"
    rows = [HEADINGS, *(_row(node_set, each, workers, now) for each in known)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def _row(
    node_set: NodeSet, known: ControllerRevision, workers: Mapping[str, int], now: datetime
) -> tuple[str, ...]:
    current = known.metadata.name == node_set.status.update_revision
    made = known.metadata.creation_timestamp
    image = (fields(known).get("slurmd") or {}).get("image") or "(the default)"
    return (
        f"{known.revision} (current)" if current else str(known.revision),
        hash_of(known),
        _age((now - made).total_seconds()) if made else "",
        str(workers.get(hash_of(known), 0)),
        image,
    )


def _age(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length:.0f}{unit}"
    return f"{max(0.0, seconds):.0f}s"


# --- going back ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Return:
    """What to change so that a NodeSet is as an older revision says."""

    number: int
    operations: tuple[dict[str, Any], ...]
    """A JSON patch; it fails if the NodeSet has changed since it was read."""
    changed: tuple[str, ...]
    """The fields of the spec that it changes."""


def rollback(node_set: NodeSet, known: Sequence[ControllerRevision], to: int | None) -> Return:
    """Back to the revision of that number, or to the one before the current."""
    chosen = _chosen(node_set, known, to)
    old, now = fields(chosen), payload(node_set)
    changed = tuple(name for name in FIELDS if old.get(name) != now.get(name))
    seen = node_set.metadata.resource_version
    version = {"op": "replace", "path": "/metadata/resourceVersion", "value": seen}
    return Return(chosen.revision, (version, *_operations(changed, old)), changed)


def _operations(changed: Sequence[str], old: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in changed:
        if name in old:
            yield {"op": "add", "path": f"/spec/{name}", "value": old[name]}
        else:
            yield {"op": "remove", "path": f"/spec/{name}"}


def _chosen(
    node_set: NodeSet, known: Sequence[ControllerRevision], to: int | None
) -> ControllerRevision:
    name, limit = node_set.metadata.name, node_set.spec.revision_history_limit
    there = ", ".join(str(each.revision) for each in known) or "none"
    if to is None:
        current = node_set.status.update_revision
        earlier = [each for each in known if each.metadata.name != current]
        if not earlier:
            raise NoSuchRevision(
                f"NodeSet {name} has no earlier revision; spec.revisionHistoryLimit is {limit}, "
                "and so many are kept besides those that workers have"
            )
        return earlier[0]
    for each in known:
        if each.revision == to:
            return each
    raise NoSuchRevision(
        f"NodeSet {name} has no revision {to}; there are: {there}. "
        f"spec.revisionHistoryLimit is {limit}, and older ones are forgotten"
    )


def hints(node_set: NodeSet) -> Iterator[str]:
    """Why workers may not follow by themselves."""
    strategy = node_set.spec.update_strategy
    if strategy.paused:
        yield "updateStrategy.paused is set: workers keep their revision until it is unset"
    if strategy.type == "OnDelete":
        yield "updateStrategy.type is OnDelete: workers get it when you delete their pods"
    if strategy.type == "ScheduledUpdate":
        yield "updateStrategy.type is ScheduledUpdate: workers get it in the reservation"


# --- the rollout -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rollout:
    sentence: str
    done: bool


def rollout(node_set: NodeSet) -> Rollout:
    meta, status = node_set.metadata, node_set.status
    if meta.deletion_timestamp is not None:
        return Rollout(f"is being deleted; {_said(node_set, 'Progressing')}", done=False)
    if status.observed_generation < meta.generation:
        return Rollout("waits for the operator to see the change", done=False)
    updated = f"{status.updated_replicas} of {status.desired} workers updated"
    parts = [updated, f"{status.ready_replicas} ready"]
    progress, fault = _said(node_set, "Progressing"), _said(node_set, "Degraded")
    parts += [each for each in (progress, fault and f"degraded: {fault}") if each]
    old = status.replicas - status.updated_replicas
    if old:
        parts += hints(node_set)
    enough = status.ready_replicas >= status.desired == status.replicas
    waits = bool(progress) or (old > 0 and node_set.spec.update_strategy.type != "OnDelete")
    return Rollout("; ".join(dict.fromkeys(parts)), done=enough and not waits)


def _said(node_set: NodeSet, kind: str) -> str:
    """The message of a condition that is true."""
    found: Iterator[Condition] = (
        each
        for each in node_set.status.conditions or ()
        if (each.type, each.status) == (kind, "True")
    )
    return next((each.message for each in found), "")
