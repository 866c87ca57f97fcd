"""Nodes, pods and groups of pods as users would make them."""

from collections.abc import Iterator
from typing import Any, Final

from windlass.bridge import words
from windlass.testing.kwok import ANNOTATION, fake_node

NAMESPACE: Final = "bench"
FLOOR: Final = "floor"
"""A scheduler that does not exist: nobody but the bare loop takes these pods."""
BEFORE, BEHIND = "before", "behind"
"""The priority classes of pods: all others wait for those of the first."""
GROUPS: Final = "podgroups.scheduling.x-k8s.io"
CPUS: Final = 6
CONFIG: Final = f"""\
partition: all
mcsLabel: ''
priorities: {{{BEFORE}: priority=1000000, {BEHIND}: priority=1000}}
"""


def cluster() -> Iterator[dict[str, Any]]:
    """What pods and gangs need to be made."""
    metadata = {"metadata": {"name": NAMESPACE}}
    yield {"apiVersion": "v1", "kind": "Namespace", **metadata}
    account = {"name": "default", "namespace": NAMESPACE}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}
    for name, value in ((BEFORE, 2), (BEHIND, 1)):
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        yield {**kind, "metadata": {"name": name}, "value": value}
    yield _definition()


def node(number: int) -> dict[str, Any]:
    made: dict[str, Any] = fake_node(f"n-{number:03}")
    made["metadata"]["labels"][words.EXTERNAL_NODE] = ""
    room = {"cpu": str(CPUS), "memory": "64Gi", "pods": "250"}
    addresses = {
        "InternalIP": f"10.{number // 62_500}.{number // 250 % 250}.{number % 250 + 1}",
        "Hostname": made["metadata"]["name"],
    }
    listed = [{"type": type_, "address": address} for type_, address in addresses.items()]
    made["status"] = {"allocatable": room, "capacity": room, "addresses": listed}
    return made


def pod(name: str, *, cpus: int = 1, scheduler: str = words.SCHEDULER, gang: str = "") -> Any:
    limits = {"cpu": str(cpus), "memory": "200Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {words.POD_GROUP: gang} if gang else {}},
        "spec": {
            "schedulerName": scheduler,
            "priorityClassName": BEFORE,
            "tolerations": [{"key": ANNOTATION, "operator": "Exists"}],
            "containers": [{"name": "main", "image": "x", "resources": {"limits": limits}}],
        },
    }


def waiting(name: str) -> Any:
    """One that wants a whole node, and lets everybody go first."""
    made = pod(name, cpus=CPUS)
    made["spec"]["priorityClassName"] = BEHIND
    return made


def group(name: str, least: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": least},
    }


def _definition() -> dict[str, Any]:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": GROUPS,
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a bench"},
        },
        "spec": {
            "group": "scheduling.x-k8s.io",
            "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
            "scope": "Namespaced",
            "versions": [{**version, "schema": {"openAPIV3Schema": anything}}],
        },
    }
