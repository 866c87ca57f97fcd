"""Who uses what of a node: never more than there is."""

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from tests.sim.bridge.objects import DRIVER, GPU, Amount, amount_of, ended, host, leaving, total
from windlass.kube import kinds
from windlass.testing.fake_allocation import Held
from windlass.testing.fake_kube import FakeKube
from windlass.values import bitmap

Json = dict[str, Any]


Given: TypeAlias = Mapping[str, tuple[int, Held]]
"""By the uid of a pod, its job and what that had of the node when it was bound."""


def wrong(kube: FakeKube, given: Given, refused: Container[str]) -> Iterator[str]:
    """Pods that have not ended use their place, also when they are being deleted; but not those
    that kubelet refuses."""
    by_node: dict[str, list[Json]] = {}
    for _, pod in kube.all(kinds.POD):
        if host(pod) and not ended(pod) and pod["metadata"]["uid"] not in refused:
            by_node.setdefault(host(pod), []).append(pod)
    for key, node in kube.all(kinds.NODE):
        there = by_node.get(key.name, [])
        used = total(there)
        has = _has(node, sum(host == key.name for host in published(kube)))
        if not used.within(has):
            names = ", ".join(pod["metadata"]["name"] for pod in there)
            yield f"{key.name} has {has}, and {names} use {used}"
        yield from _shared(
            key.name, [pod for pod in there if pod["metadata"]["uid"] in given], given
        )


def _shared(node: str, pods: Sequence[Json], given: Given) -> Iterator[str]:
    """No core and no device of one job is another's."""
    for one, other in combinations(pods, 2):
        first, second = (given[pod["metadata"]["uid"]] for pod in (one, other))
        if first[0] != second[0] and _meet(first[1], second[1]):
            names = f"{one['metadata']['name']} and {other['metadata']['name']}"
            yield f"{names} use the same of {node}, by jobs {first[0]} and {second[0]}"


def _meet(one: Held, other: Held) -> bool:
    devices = (
        bits & more
        for name, kind, bits in one.devices
        for theirs, sort, more in other.devices
        if (name, kind) == (theirs, sort)
    )
    return bool(one.cores & other.cores) or any(devices)


def beyond(held: Held, pods: Sequence[Json]) -> str:
    """How far these pods go beyond what their job has of the node."""
    gpus = sum(bitmap.count(bits) for name, _, bits in held.devices if name == "gpu")
    classed = sum(bitmap.count(bits) for _, kind, bits in held.devices if kind == DRIVER)
    has, used = Amount(held.cpus, gpus - classed, classed), total(pods)
    return "" if used.within(has) else f"{used} are used and {has} are held"


def _has(node: Json, classed: int) -> Amount:
    amounts = node["status"]["allocatable"]
    return Amount(int(amounts["cpu"]), int(amounts.get(GPU, 0)), classed)


def published(kube: FakeKube) -> list[str]:
    """The node of each device that a driver publishes."""
    slices = [found["spec"] for _, found in kube.all(kinds.RESOURCE_SLICE)]
    return [each["nodeName"] for each in slices for _ in each["devices"]]


def claimed(kube: FakeKube) -> Iterator[str]:
    """Each pod that is bound has as many devices as it asks for, and none has another's."""
    holders: dict[tuple[str, str], str] = {}
    claims = {_owner(claim): claim for _, claim in kube.all(kinds.RESOURCE_CLAIM)}
    for _, pod in kube.all(kinds.POD):
        name, wanted = pod["metadata"]["name"], amount_of(pod).classed
        if not wanted or not host(pod) or ended(pod):
            continue
        devices = _given(claims.get(pod["metadata"]["uid"], {}))
        if len(devices) != wanted and not leaving(pod):
            yield f"{name} is bound with {len(devices)} of {wanted} devices"
        for device in devices:
            if (other := holders.setdefault((host(pod), device), name)) != name:
                yield f"{name} and {other} have {device} of {host(pod)}"


def _owner(claim: Json) -> str:
    return str(claim["metadata"]["ownerReferences"][0]["uid"])


def _given(claim: Json) -> list[str]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return [each["device"] for each in (allocation.get("devices") or {}).get("results") or ()]
