"""What pods take on each node of Kubernetes, whoever scheduled them: amounts and ports.

Kept by what changes, so that a question costs nothing that grows with the cluster. Slurm's own
ledger decides who gets what; this one says what Slurm cannot know.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from windlass.bridge.amounts import NANO
from windlass.bridge.neighbours import Neighbour, stands
from windlass.bridge.ports import HostPort, clash, host_ports
from windlass.bridge.resources import requests
from windlass.bridge.workloads.assembling import ENDED
from windlass.kube.objects import Pod
from windlass.kube.store import Store
from windlass.values.key import Key

Nano: TypeAlias = dict[str, int]
"""Billionths of each resource."""
PODS: Final = "pods"


class Whose(Enum):
    OURS = "placed by Slurm"
    NODE = "belongs to its node"
    GUEST = "placed by another scheduler"


class Held(NamedTuple):
    """What one pod takes."""

    pod: Key
    node: str
    amounts: Nano
    ports: tuple[HostPort, ...]
    whose: Whose


class Ledger:
    def __init__(self, pods: Store[Pod], others: Store[Neighbour]) -> None:
        self.on_free: Callable[[tuple[HostPort, ...]], None] = lambda _: None
        """Told of ports that somebody has given back."""
        self.on_ports: Callable[[str, str], None] = lambda _, __: None
        """Told of a pod, by its UID, and the node on which it has ports."""
        self.on_standing: Callable[[], None] = lambda: None
        """Told when pods that belong to a node take more or less of it."""
        self._held: dict[str, Held] = {}
        """By UID: a pod may get the name of one that the other watch has not seen go."""
        self._used: dict[str, Nano] = {}
        self._standing: dict[str, Nano] = {}
        self._guests: dict[str, Nano] = {}
        self.guests_version = 0
        """Another one whenever guests come or go."""
        self._ports: dict[tuple[str, int], dict[str, Held]] = {}
        pods.subscribe(self._changed)
        others.subscribe(self._changed)

    # --- reading -------------------------------------------------------------------------------

    def used(self, node: str) -> Mapping[str, int]:
        """What all pods on a node request, and how many they are."""
        return self._used.get(node, {})

    def standing(self, node: str) -> Mapping[str, int]:
        """The part of pods that belong to the node."""
        return self._standing.get(node, {})

    def foreign(self, node: str) -> Mapping[str, int]:
        """The part of pods of other schedulers."""
        guests, standing = self._guests.get(node, {}), self.standing(node)
        return {
            name: guests.get(name, 0) + standing.get(name, 0) for name in {**guests, **standing}
        }

    def guests(self) -> Mapping[str, Mapping[str, int]]:
        """By node: what pods of other schedulers take that do not belong to it."""
        return self._guests

    def nodes_with(self, ports: Iterable[HostPort]) -> frozenset[str]:
        """The nodes on which one of these ports is taken."""
        return frozenset(node for port in ports for node, _ in self._takers(port))

    def takers(self, node: str, ports: Iterable[HostPort]) -> dict[HostPort, Key]:
        """Who has which of these ports on a node."""
        return {port: pod for port in ports for there, pod in self._takers(port) if there == node}

    def _takers(self, port: HostPort) -> Iterator[tuple[str, Key]]:
        for held in self._ports.get(port[:2], {}).values():
            if any(clash(port, other) for other in held.ports):
                yield held.node, held.pod

    # --- following -----------------------------------------------------------------------------

    def _changed(self, old: Pod | Neighbour | None, new: Pod | Neighbour | None) -> None:
        if old is not None and new is not None and _same(old, new):
            return
        before = self._forget(old) if old is not None else None
        after = self._take(new) if new is not None else None
        if before is not None and before.ports and before != after:
            self.on_free(before.ports)
        if _stood(before) != _stood(after):
            self.on_standing()

    def _take(self, pod: Pod | Neighbour) -> Held | None:
        held = _held(pod)
        if held is None:
            return None
        self._held[pod.metadata.uid] = held
        for sums in self._sums(held):
            _add(sums.setdefault(held.node, {}), held.amounts, 1)
        for port in held.ports:
            self._ports.setdefault(port[:2], {})[pod.metadata.uid] = held
        if held.ports:
            self.on_ports(pod.metadata.uid, held.node)
        return held

    def _forget(self, pod: Pod | Neighbour) -> Held | None:
        held = self._held.pop(pod.metadata.uid, None)
        if held is None:
            return None
        for sums in self._sums(held):
            _add(sums[held.node], held.amounts, -1)
            if not any(sums[held.node].values()):
                del sums[held.node]
        for port in held.ports:
            self._ports.get(port[:2], {}).pop(pod.metadata.uid, None)
        return held

    def _sums(self, held: Held) -> tuple[dict[str, Nano], ...]:
        match held.whose:
            case Whose.OURS:
                return (self._used,)
            case Whose.NODE:
                return self._used, self._standing
            case Whose.GUEST:
                self.guests_version += 1
                return self._used, self._guests


def _same(old: Pod | Neighbour, new: Pod | Neighbour) -> bool:
    return (
        old.metadata.uid == new.metadata.uid and _over(old) == _over(new) and old.spec == new.spec
    )


def _held(pod: Pod | Neighbour) -> Held | None:
    if not pod.spec.node_name or _over(pod):
        return None
    amounts = {name: amount.nano for name, amount in requests(pod.spec).items() if amount.nano}
    whose = Whose.OURS if isinstance(pod, Pod) else Whose.NODE if stands(pod) else Whose.GUEST
    at = pod.metadata.key, pod.spec.node_name
    return Held(*at, {**amounts, PODS: NANO}, host_ports(pod.spec), whose)


def _over(pod: Pod | Neighbour) -> bool:
    return pod.status.phase in ENDED


def _stood(held: Held | None) -> tuple[str, Nano] | None:
    return (held.node, held.amounts) if held is not None and held.whose is Whose.NODE else None


def _add(sums: Nano, amounts: Nano, sign: int) -> None:
    for name, amount in amounts.items():
        sums[name] = sums.get(name, 0) + sign * amount
