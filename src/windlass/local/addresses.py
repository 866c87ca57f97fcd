"""The addresses of one cluster: one /16 for its nodes, services and pods, away from the host's."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import chain, islice

from windlass.local.errors import LocalError

MOST_NODES = 120


@dataclass(frozen=True, slots=True)
class Addresses:
    """How a /16 is divided: nodes in its first /24, services in a /20, pods in its upper half."""

    block: IPv4Network

    @property
    def nodes(self) -> IPv4Network:
        return IPv4Network((self.block.network_address, 24))

    @property
    def services(self) -> IPv4Network:
        return IPv4Network((self.block.network_address + 16 * 256, 20))

    @property
    def pods(self) -> IPv4Network:
        return IPv4Network((self.block.network_address + 128 * 256, 17))

    @property
    def gateway(self) -> IPv4Address:
        """The host's own address in the cluster; the control plane listens there only."""
        return self.nodes[1]

    @property
    def api_service(self) -> IPv4Address:
        return self.services[1]

    @property
    def dns_service(self) -> IPv4Address:
        return self.services[10]

    def node(self, index: int) -> IPv4Address:
        return self.nodes[10 + index]

    def pods_of(self, index: int) -> IPv4Network:
        return next(islice(self.pods.subnets(new_prefix=24), index, None))


def candidates() -> Iterator[IPv4Network]:
    """The blocks we may take, the least used by others first."""
    seconds = chain(range(200, 255), range(100, 200))
    tens = (IPv4Network(f"10.{second}.0.0/16") for second in seconds)
    shared = (IPv4Network(f"100.{second}.0.0/16") for second in range(64, 128))
    private = (IPv4Network(f"172.{second}.0.0/16") for second in range(16, 32))
    return chain(tens, shared, private)


def choose(taken: Iterable[IPv4Network]) -> Addresses:
    """The first block that overlaps nothing the host already routes or another cluster holds."""
    occupied = tuple(taken)
    for block in candidates():
        if not any(block.overlaps(other) for other in occupied):
            return Addresses(block)
    raise LocalError(
        "no free /16 is left in 10.100-254, 100.64-127 or 172.16-31; "
        "take down another local cluster or a VPN that routes all of them"
    )
