"""Amounts of resources in billionths, as whole numbers that add up exactly."""

from collections.abc import Mapping
from typing import Final

from windlass.kube.objects import Node
from windlass.values.quantity import Quantity

NANO: Final = 10**9


def allocatable(host: Node) -> dict[str, int]:
    """What kubelet gives to pods."""
    amounts = host.status.allocatable or host.status.capacity or {}
    return {name: _nano(amount) for name, amount in amounts.items()}


def left(has: Mapping[str, int], used: Mapping[str, int]) -> dict[str, int]:
    """Never less than nothing."""
    return {name: max(0, amount - used.get(name, 0)) for name, amount in has.items()}


def written(name: str, nano: int) -> str:
    """For people."""
    if name == "memory":
        return f"{nano // (NANO * 2**20)}Mi"
    return str(Quantity(nano))


def _nano(amount: str | float) -> int:
    return Quantity.parse(amount if isinstance(amount, int) else str(amount)).nano
