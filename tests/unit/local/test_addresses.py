from ipaddress import IPv4Address, IPv4Network

import pytest

from windlass.local.addresses import MOST_NODES, Addresses, candidates, choose
from windlass.local.errors import LocalError

BLOCK = Addresses(IPv4Network("10.200.0.0/16"))


def test_nodes_services_and_pods_do_not_overlap() -> None:
    parts = [BLOCK.nodes, BLOCK.services, BLOCK.pods]
    for one in parts:
        assert one.subnet_of(BLOCK.block)
        assert not any(one.overlaps(other) for other in parts if other is not one)


def test_every_possible_node_has_its_own_address_and_pods() -> None:
    indexes = range(1, MOST_NODES + 1)
    assert len({BLOCK.node(index) for index in indexes}) == MOST_NODES
    assert len({BLOCK.pods_of(index) for index in indexes}) == MOST_NODES
    assert all(BLOCK.node(index) in BLOCK.nodes for index in indexes)
    assert all(BLOCK.pods_of(index).subnet_of(BLOCK.pods) for index in indexes)


def test_the_gateway_is_no_node() -> None:
    assert BLOCK.gateway == IPv4Address("10.200.0.1")
    assert BLOCK.gateway not in {BLOCK.node(index) for index in range(1, MOST_NODES + 1)}


@pytest.mark.parametrize(
    ("taken", "want"),
    [
        pytest.param([], "10.200.0.0/16", id="nothing taken: the first block"),
        pytest.param(["10.200.4.0/24"], "10.201.0.0/16", id="a small network inside the block"),
        pytest.param(["10.200.0.0/15"], "10.202.0.0/16", id="a network over two blocks"),
        pytest.param(["10.0.0.0/8"], "100.64.0.0/16", id="a VPN that takes all of 10"),
        pytest.param(["192.168.0.0/16"], "10.200.0.0/16", id="a network elsewhere"),
    ],
)
def test_a_block_is_moved_away_from_what_the_host_routes(taken: list[str], want: str) -> None:
    assert str(choose([IPv4Network(network) for network in taken]).block) == want


def test_a_host_that_routes_everything_gets_a_clear_error() -> None:
    with pytest.raises(LocalError, match="no free /16"):
        choose(candidates())
