"""A NodeSet with all it needs, to be changed by each test."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from windlass.api import labels
from windlass.api.controller import Controller
from windlass.api.node_set import NodeSet
from windlass.kube.objects import ControllerRevision, Pod
from windlass.operator.keys import effective_keys
from windlass.operator.membership import Membership
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.past import new
from windlass.operator.workers.pod import key_hash
from windlass.operator.workers.revision import revision
from windlass.operator.workers.worker import Worker
from windlass.slurm.model import Job, Node
from windlass.values.states import NodeState

MINE = "namespace=hpc,nodeSetName=w,nodeSetUID=u-w"
"""What the Slurm nodes of the set say of themselves."""
NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


def node_set(
    status: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any
) -> NodeSet:
    meta = {"name": "w", "namespace": "hpc", "uid": "u-w", "generation": 3}
    body = {
        "metadata": {**meta, "finalizers": [labels.WORKERS], **(metadata or {})},
        "spec": {"controllerRef": {"name": "slurm"}, **spec},
        "status": status or {},
    }
    return msgspec.convert(body, NodeSet)


def controller(**spec: Any) -> Controller:
    return msgspec.convert(
        {"metadata": {"name": "slurm", "namespace": "hpc", "uid": "u-slurm"}, "spec": spec},
        Controller,
    )


def membership(data: dict[str, str] | None = None, **spec: Any) -> Membership:
    chosen = controller(**spec)
    secret = {"data": {"slurm.key": "a2V5"} if data is None else data}
    return Membership(controller=chosen, keys=effective_keys(chosen, None), slurm_secret=secret)


KEY_HASH = key_hash(membership())


def pod(ordinal: int, owner: NodeSet | None = None, **given: Any) -> Pod:
    """A worker that is ready since an hour, on a node, and of its set's revision."""
    made_for = owner or node_set()
    node = given.get("node", f"n{ordinal}")
    ready = given.get("ready", bool(node))
    conditions = [
        {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": given.get("since", "2026-07-01T11:00:00Z"),
        }
    ]
    metadata = {
        "name": f"w-{ordinal}",
        "namespace": "hpc",
        "uid": f"u-{ordinal}",
        "resourceVersion": f"1{ordinal}",
        "labels": {labels.REVISION: given.get("revision", revision(made_for, None))},
        "annotations": {labels.SLURM_KEY_HASH: KEY_HASH, **given.get("annotations", {})},
        "creationTimestamp": given.get("created", "2026-07-01T10:00:00Z"),
    }
    if given.get("going"):
        metadata["deletionTimestamp"] = "2026-07-01T11:59:00Z"
    body = {
        "metadata": metadata,
        "spec": {"nodeName": node, "hostname": f"w-{ordinal}"},
        "status": {
            "phase": given.get("phase", "Running" if node else "Pending"),
            "conditions": conditions,
            "containerStatuses": given.get("containers"),
        },
    }
    return msgspec.convert(body, Pod)


def slurm(**states: str) -> dict[str, Node]:
    """Slurm's nodes: `slurm(w_0="IDLE+DRAIN")`; those of the set say so."""
    named = {name.replace("_", "-"): NodeState.parse(state) for name, state in states.items()}
    return {
        name: Node(name=name, state=state, extra=MINE if name.startswith("w-") else "")
        for name, state in named.items()
    }


def worker(of: Pod, node: Node | None = None, *jobs: Job) -> Worker:
    return Worker(of, of.metadata.name, node, {str(job.id): job for job in jobs}, None)


def kept(of: NodeSet, number: int = 1, **given: Any) -> ControllerRevision:
    """A revision of this spec that is written down already."""
    hash_ = given.get("revision", revision(of, None))
    body = {**new(of, hash_, number), **given.get("fields", {})}
    body["metadata"] = {**body["metadata"], "uid": f"u-{hash_}", **given.get("metadata", {})}
    return msgspec.convert(body, ControllerRevision)


def observed(of: NodeSet | None = None, **more: Any) -> Observed:
    chosen = of or node_set()
    fields: dict[str, Any] = {
        "node_set": chosen,
        "membership": membership(),
        "siblings": (chosen.metadata,),
        "revisions": (kept(chosen),),
    }
    if isinstance(more.get("slurm"), dict):
        unread = more.pop("unread", frozenset())
        more["slurm"] = Seen(more["slurm"], more.pop("jobs", {}), unread=unread)
    return Observed(**{**fields, **more})
