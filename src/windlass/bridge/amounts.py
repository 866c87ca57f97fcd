"""Amounts of resources in billionths, as whole numbers that add up exactly."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from windlass.kube.meta import Quantity
from windlass.kube.objects import Node
from windlass.values import quantity

NANO: Final = 10**9


def allocatable(host: Node) -> dict[str, int]:
    """What kubelet gives to pods."""
    return dict(_parsed(tuple((host.status.allocatable or host.status.capacity or {}).items())))


def has_all(host: Node, names: frozenset[str]) -> bool:
    """Whether kubelet knows of all of these, be there some left or not; one that has not said
    anything yet is trusted."""
    told = known(host)
    return not told or names <= told


def known(host: Node) -> frozenset[str]:
    """The resources that kubelet knows of, be there some left or not."""
    return frozenset((*(host.status.capacity or ()), *(host.status.allocatable or ())))


@lru_cache(maxsize=1024)  # many nodes are alike, and are asked again and again
def _parsed(amounts: tuple[tuple[str, Quantity], ...]) -> tuple[tuple[str, int], ...]:
    return tuple((name, _nano(amount)) for name, amount in amounts)


def left(has: Mapping[str, int], used: Mapping[str, int]) -> dict[str, int]:
    """Never less than nothing."""
    return {name: max(0, amount - used.get(name, 0)) for name, amount in has.items()}


def written(name: str, nano: int) -> str:
    """For people."""
    if name == "memory":
        return f"{nano // (NANO * 2**20)}Mi"
    return str(quantity.Quantity(nano))


def _nano(amount: Quantity) -> int:
    return quantity.Quantity.parse(amount if isinstance(amount, int) else str(amount)).nano
