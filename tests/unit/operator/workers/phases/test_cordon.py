from typing import Any

import pytest

from tests.unit.operator.workers.observed import node_set, pod
from tests.unit.operator.workers.phases.courses import course, host, hosts
from windlass.api import labels
from windlass.kube.objects import Node as Host
from windlass.operator.site import Site
from windlass.operator.workers.phases.cordon import cordon

SITE = Site(
    propagated_node_conditions=("GpuBroken",),
    drain_node_conditions=("DiskBad", "Ready"),
    drain_node_taints=("gpu.example/unhealthy",),
)
TOLD: dict[str, Any] = {"annotations": {labels.NODE_CORDON_REASON: " swap\tthe\ndisk\x07 "}}


def condition(kind: str, status: str, reason: str = "Why", message: str = "so") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def taint(key: str, value: str = "") -> dict[str, str]:
    return {"key": key, "value": value, "effect": "NoSchedule"}


CASES: list[tuple[str, Host, str | None]] = [
    ("a host like any other", host("n0"), None),
    (
        "cordoned",
        host("n0", cordoned=True),
        "Node (n0) was cordoned, Pod (hpc/w-0) must be cordoned",
    ),
    ("cordoned with a reason", host("n0", cordoned=True, **TOLD), "swap the disk"),
    ("a reason without a cordon", host("n0", **TOLD), None),
    (
        "cordoned, and a condition says why",
        host("n0", cordoned=True, conditions=[condition("GpuBroken", "True", "Xid", "79")]),
        "(Xid: 79)",
    ),
    (
        "a condition that only explains",
        host("n0", conditions=[condition("GpuBroken", "True")]),
        None,
    ),
    (
        "a condition that drains",
        host("n0", conditions=[condition("DiskBad", "True", "Smart", "5 sectors")]),
        "Node (n0) is unhealthy: (Smart: 5 sectors)",
    ),
    ("the same, when it is over", host("n0", conditions=[condition("DiskBad", "False")]), None),
    ("ready", host("n0", conditions=[condition("Ready", "True")]), None),
    (
        "not ready",
        host("n0", conditions=[condition("Ready", "Unknown", "NodeStatusUnknown", "silent")]),
        "Node (n0) is unhealthy: (NodeStatusUnknown: silent)",
    ),
    (
        "a taint that drains",
        host("n0", taints=[taint("gpu.example/unhealthy", "xid79")]),
        "Node (n0) is tainted: gpu.example/unhealthy=xid79:NoSchedule",
    ),
    ("another taint", host("n0", taints=[taint("other")]), None),
]


@pytest.mark.parametrize(
    ("at", "expected"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_a_worker_is_drained_for_its_host(at: Host, expected: str | None) -> None:
    found = cordon(course(pods=(pod(0),), hosts=hosts(at), site=SITE))

    assert [each.sentence for each in found.drain.values()] == ([expected] if expected else [])


def test_a_reason_is_cut_to_what_fits_a_table() -> None:
    long = host("n0", cordoned=True, annotations={labels.NODE_CORDON_REASON: "x" * 400})
    found = cordon(course(pods=(pod(0),), hosts=hosts(long)))

    assert found.drain["w-0"].sentence == "x" * 256


@pytest.mark.parametrize(("written", "drains"), [("true", True), ("false", False), ("", False)])
def test_a_user_drains_a_worker_by_an_annotation(written: str, drains: bool) -> None:
    annotated = pod(0, annotations={labels.POD_CORDON: written})
    found = cordon(course(pods=(annotated, pod(1)), of=node_set(replicas=2)))

    assert dict(found.drain).keys() == ({"w-0"} if drains else set())


@pytest.mark.parametrize(
    "gone", [{"going": True}, {"phase": "Failed"}], ids=["on its way out", "ended"]
)
def test_whoever_goes_is_not_drained_any_more(gone: dict[str, Any]) -> None:
    cordoned = hosts(host("n0", cordoned=True))

    assert dict(cordon(course(pods=(pod(0, **gone),), hosts=cordoned)).drain) == {}
