"""Who uses what of a node: never more than there is."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

from tests.sim.bridge.objects import GPU, Amount, ended, host, total
from windlass.kube import kinds
from windlass.testing.fake_allocation import Held
from windlass.testing.fake_kube import FakeKube
from windlass.values import bitmap

Json = dict[str, Any]


Given: TypeAlias = Mapping[str, tuple[int, Held]]
"""By the uid of a pod, its job and what that had of the node when it was bound."""


def wrong(kube: FakeKube, given: Given) -> Iterator[str]:
    """Pods that have not ended use their place, also when they are being deleted."""
    by_node: dict[str, list[Json]] = {}
    for _, pod in kube.all(kinds.POD):
        if host(pod) and not ended(pod):
            by_node.setdefault(host(pod), []).append(pod)
    for key, node in kube.all(kinds.NODE):
        there = by_node.get(key.name, [])
        used = total(there)
        if not used.within(_has(node)):
            names = ", ".join(pod["metadata"]["name"] for pod in there)
            yield f"{key.name} has {_has(node)}, and {names} use {used}"
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
    has, used = Amount(held.cpus, gpus), total(pods)
    return "" if used.within(has) else f"{used} are used and {has} are held"


def _has(node: Json) -> Amount:
    amounts = node["status"]["allocatable"]
    return Amount(int(amounts["cpu"]), int(amounts.get(GPU, 0)))
