"""Workers that belong to hosts."""

from typing import Any

import msgspec

from tests.unit.operator.workers.observed import KEY_HASH, node_set
from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.objects import Node, Pod
from windlass.kube.placement import pinned
from windlass.operator.workers.identity import identity_on
from windlass.operator.workers.revision import revision


def every_host(**spec: Any) -> NodeSet:
    return node_set(scalingMode="DaemonSet", **spec)


def host_pod(of: Node | str, **given: Any) -> Pod:
    """The worker of a host, ready since an hour; `placed=False`: it only waits for its host."""
    host = msgspec.convert({"metadata": {"name": of}}, Node) if isinstance(of, str) else of
    who = identity_on(node_set(), host)
    name = given.get("name", who.pod)
    placed = given.get("placed", True)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-07-01T11:00:00Z"}
    metadata = {
        "name": name,
        "namespace": "hpc",
        "uid": f"u-{name}",
        "resourceVersion": "7",
        "labels": {
            labels.REVISION: given.get("revision", revision(every_host(), None)),
            labels.SCALING_MODE: given.get("mode", "DaemonSet"),
        },
        "annotations": {labels.SLURM_KEY_HASH: KEY_HASH, **given.get("annotations", {})},
        "creationTimestamp": given.get("created", "2026-07-01T10:00:00Z"),
    }
    if given.get("going"):
        metadata["deletionTimestamp"] = "2026-07-01T11:59:00Z"
    body = {
        "metadata": metadata,
        "spec": {
            "nodeName": who.host if placed else "",
            "hostname": given.get("hostname", who.hostname),
            "affinity": pinned(None, who.host),
        },
        "status": {
            "phase": given.get("phase", "Running" if placed else "Pending"),
            "conditions": given.get("conditions", [ready] if placed else []),
            "containerStatuses": given.get("containers"),
        },
    }
    return msgspec.convert(body, Pod)
