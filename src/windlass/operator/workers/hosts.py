"""Which Kubernetes nodes should have a worker of their own, and which may keep one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.objects import Node as Host
from windlass.kube.placement import TO_STAY, Demands, demands, refusal
from windlass.operator.pods.merge import merge_pod_spec
from windlass.operator.workers.identity import ON_EVERY_HOST

PLACED_BY: Final = ("nodeSelector", "affinity", "tolerations")
WORKER_TAINT: Final = {"key": labels.WORKER_TAINT, "operator": "Equal", "effect": "NoExecute"}
# What Kubernetes lets the pods of its own DaemonSets tolerate.
HOST_TAINTS: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
HOST_NETWORK_TAINT: Final = ("network-unavailable", "NoSchedule")


@dataclass(frozen=True, slots=True)
class Places:
    """Names of Kubernetes nodes."""

    fit: frozenset[str] = frozenset()
    """Those that should have a worker."""
    stay: frozenset[str] = frozenset()
    """Those whose worker may stay: also where none would be made now."""


def places(node_set: NodeSet, hosts: Mapping[str, Host]) -> Places:
    try:
        asked = demands_of(node_set)
    except msgspec.ValidationError:
        return Places()  # such a set is refused
    fit = frozenset(name for name, host in hosts.items() if refusal(asked, host) is None)
    stay = (name for name in hosts.keys() - fit if refusal(asked, hosts[name], TO_STAY) is None)
    return Places(fit, fit.union(stay))


def demands_of(node_set: NodeSet) -> Demands:
    """What the pods of the set ask of their node, but for the pin of each to its own."""
    given = node_set.spec.template.spec or {}
    theirs: dict[str, Any] = {name: given[name] for name in PLACED_BY if name in given}
    return demands(merge_pod_spec({"tolerations": tolerations(node_set)}, theirs))


def tolerations(node_set: NodeSet) -> list[dict[str, Any]]:
    """Those that we give to the pods of the set."""
    if node_set.spec.scaling_mode != ON_EVERY_HOST:
        return [WORKER_TAINT]
    own_network = not (node_set.spec.template.spec or {}).get("hostNetwork")
    taints = HOST_TAINTS if own_network else (*HOST_TAINTS, HOST_NETWORK_TAINT)
    return [
        WORKER_TAINT,
        *(
            {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
            for name, effect in taints
        ),
    ]
