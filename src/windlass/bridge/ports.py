"""Ports of a node that pods take for themselves: two that want the same one cannot share a node."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from windlass.kube.objects import Container

EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - nothing is opened
SIDECAR: Final = "Always"


class HostPort(NamedTuple):
    protocol: str
    number: int
    address: str = ""

    def __str__(self) -> str:
        return f"{self.number}/{self.protocol}"


class Runs(Protocol):
    """What of a spec says which ports its containers take."""

    @property
    def containers(self) -> list[Container] | None: ...

    @property
    def init_containers(self) -> list[Container] | None: ...


def host_ports(spec: Runs) -> tuple[HostPort, ...]:
    return tuple(dict.fromkeys(_ports(spec)))


def _ports(spec: Runs) -> Iterator[HostPort]:
    sidecars = (each for each in spec.init_containers or () if each.restart_policy == SIDECAR)
    for container in (*(spec.containers or ()), *sidecars):
        for port in container.ports or ():
            if port.host_port:
                yield HostPort(port.protocol or "TCP", port.host_port, port.host_ip)


def clash(one: HostPort, other: HostPort) -> bool:
    """Whether both want the same; on all addresses is also on any single one."""
    if one[:2] != other[:2]:
        return False
    return one.address == other.address or bool({one.address, other.address} & EVERYWHERE)


def rivals(several: Iterable[Sequence[HostPort]]) -> bool:
    """Whether any two of these pods cannot be on one node."""
    taken: dict[tuple[str, int], list[HostPort]] = {}
    for ports in several:
        for port in ports:
            if any(clash(port, other) for other in taken.get(port[:2], ())):
                return True
        for port in ports:
            taken.setdefault(port[:2], []).append(port)
    return False
