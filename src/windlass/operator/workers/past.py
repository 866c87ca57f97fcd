"""The revisions that a NodeSet has had, kept as ControllerRevisions so that one can come back."""

from typing import Any, Final

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import CONTROLLER_REVISION, NODE_SET
from windlass.kube.objects import ControllerRevision
from windlass.operator import owned
from windlass.operator.workers import words
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.revision import payload, revision

FIELDS: Final = (
    *("template", "slurmd", "logfile", "ssh", "extraConf", "ordinalPadding", "oversubscribeNode"),
)
"""The fields of a spec that make a revision."""
_REPLACE: Final = {"$patch": "replace"}


def name_of(node_set: NodeSet, hash_: str) -> str:
    return f"{node_set.metadata.name}-{hash_}"


def hash_of(known: ControllerRevision) -> str:
    return (known.metadata.labels or {}).get(labels.REVISION, "")


def data(node_set: NodeSet) -> dict[str, Any]:
    """A patch of the NodeSet, in the form of Slinky's; what is not given is not in it."""
    given = {name: value for name, value in payload(node_set).items() if value is not None}
    return {"spec": {**given, "template": {**given["template"], **_REPLACE}}}


def fields(known: ControllerRevision) -> dict[str, Any]:
    """What it says of the spec, without the words of a patch."""
    spec: dict[str, Any] = (known.data or {}).get("spec") or {}
    kept = {name: spec[name] for name in FIELDS if spec.get(name) is not None}
    if isinstance(kept.get("template"), dict):
        kept["template"] = {k: v for k, v in kept["template"].items() if k not in _REPLACE}
    return kept


def settled(observed: Observed) -> tuple[str, int]:
    """The revision that is wanted, and how often its name was taken by a different one."""
    node_set, names = observed.node_set, {each.metadata.name: each for each in observed.revisions}
    collisions = node_set.status.collision_count or 0
    wanted = data(node_set)
    while True:
        hash_ = revision(node_set, observed.sssd_conf, collisions)
        known = names.get(name_of(node_set, hash_))
        if known is None or known.data == wanted:
            return hash_, collisions
        collisions += 1


def new(node_set: NodeSet, hash_: str, number: int) -> dict[str, Any]:
    return {**numbered(node_set, hash_, number), "data": data(node_set)}


def numbered(node_set: NodeSet, hash_: str, number: int) -> dict[str, Any]:
    """All of it that may change."""
    meta = node_set.metadata
    own = words.common_labels(meta, node_set.spec.controller_ref.name)
    return {
        "apiVersion": CONTROLLER_REVISION.api_version,
        "kind": CONTROLLER_REVISION.kind,
        "metadata": owned.metadata(
            meta, NODE_SET, name_of(node_set, hash_), {**own, labels.REVISION: hash_}
        ),
        "revision": number,
    }
