"""Which pods count as bound though no watch shows it."""

from typing import Any

import msgspec
import pytest

from windlass.bridge.plan import Target
from windlass.bridge.seats import Seats
from windlass.kube.objects import Pod
from windlass.kube.store import Store
from windlass.values.key import Key

AT = Key("team", "p")
SHOWN: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"phase": "Pending"}, True),
    ({"nodeName": "n1"}, False),
    ({"deletionTimestamp": "2026-07-01T00:00:00Z"}, False),
    ({"uid": "another"}, False),
]


def _pod(version: int, uid: str = "u", **given: Any) -> Pod:
    meta = {"name": AT.name, "namespace": AT.namespace, "uid": uid, "resourceVersion": str(version)}
    spec = {"nodeName": given.pop("nodeName", "")}
    status = {"phase": given.pop("phase", "")}
    return msgspec.convert({"metadata": {**meta, **given}, "spec": spec, "status": status}, Pod)


@pytest.mark.parametrize(("then", "counts"), SHOWN)
@pytest.mark.parametrize("before", [True, False])
def test_a_pod_counts_until_it_is_shown_what_became_of_it(
    then: dict[str, Any], *, before: bool, counts: bool
) -> None:
    """Also where it was shown before the binding was sent."""
    pods: Store[Pod] = Store()
    seats = Seats(pods)
    pods.put(_pod(1))
    if before:
        pods.put(_pod(2, **then))
    seats.take(Target(AT, "u"), 7, "n1")
    if not before:
        pods.put(_pod(2, **then))
    assert seats.of(7) is counts
    assert [(pod.metadata.name, job) for pod, job in seats.on("n1")] == [("p", 7)] * counts
