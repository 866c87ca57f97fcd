"""Nodes on which pods of other schedulers leave too little room, though Slurm may think otherwise.

What belongs to a node is taken off before Slurm hears of it. Guests come and go, and no node is
made anew for them; while they are there, pods that do not fit beside them are kept away.
"""

from collections.abc import Iterable
from typing import TypeAlias

from windlass.bridge.amounts import allocatable
from windlass.bridge.ledger import Ledger
from windlass.bridge.resources import requests
from windlass.kube.objects import Node, PodSpec
from windlass.kube.store import Store
from windlass.values.key import Key

Needs: TypeAlias = tuple[tuple[str, int], ...]


class Burdens:
    def __init__(self, ledger: Ledger, hosts: Store[Node]) -> None:
        self._ledger = ledger
        self._hosts = hosts
        self._as_of = -1
        self._known: dict[Needs, frozenset[str]] = {}
        hosts.subscribe(self._changed)

    def too_small(self, specs: Iterable[PodSpec]) -> frozenset[str]:
        """Kubernetes' names of the nodes that have guests and no room for the largest of these."""
        guests = self._ledger.guests()
        if not guests:
            return frozenset()
        if self._as_of != self._ledger.guests_version:
            self._known.clear()
            self._as_of = self._ledger.guests_version
        needs = _largest(specs)
        if needs not in self._known:
            self._known[needs] = frozenset(name for name in guests if not self._fits(name, needs))
        return self._known[needs]

    def _fits(self, name: str, needs: Needs) -> bool:
        host = self._hosts.get(Key("", name))
        if host is None:
            return True
        has, foreign = allocatable(host), self._ledger.foreign(name)
        return all(has[one] - foreign.get(one, 0) >= much for one, much in needs if one in has)

    def _changed(self, old: Node | None, new: Node | None) -> None:
        if old is None or new is None or old.status.allocatable != new.status.allocatable:
            self._known.clear()


def _largest(specs: Iterable[PodSpec]) -> Needs:
    largest: dict[str, int] = {}
    for spec in specs:
        for name, amount in requests(spec).items():
            largest[name] = max(largest.get(name, 0), amount.nano)
    return tuple(sorted(largest.items()))
