import tomllib
from ipaddress import IPv4Address, IPv4Network

import pytest

from windlass.local.node_files import NodePlan, cni, containerd, files, kubelet, resolv_conf

PLAN = NodePlan(
    name="demo-1",
    address=IPv4Address("10.200.0.11"),
    pods=IPv4Network("10.200.129.0/24"),
    cluster_pods=IPv4Network("10.200.128.0/17"),
    dns=IPv4Address("10.200.16.10"),
    cgroup="windlass/demo/demo-1",
    pause_image="localhost/windlass/pause:1",
    resolv_conf="nameserver 192.0.2.1\n",
)


def test_pods_stay_below_the_cgroup_of_their_node() -> None:
    assert kubelet(PLAN)["cgroupRoot"] == "/windlass/demo/demo-1"


def test_pods_ask_the_dns_service_of_their_cluster() -> None:
    assert kubelet(PLAN)["clusterDNS"] == ["10.200.16.10"]


def test_kubelet_serves_nobody_it_does_not_know() -> None:
    config = kubelet(PLAN)
    assert config["authorization"] == {"mode": "Webhook"}
    assert config["authentication"]["anonymous"] == {"enabled": False}  # type: ignore[index]


def test_containerd_uses_the_pause_image_that_is_there() -> None:
    read = tomllib.loads(containerd(PLAN))
    images = read["plugins"]["io.containerd.cri.v1.images"]
    assert images["pinned_images"]["sandbox"] == "localhost/windlass/pause:1"


def test_pods_get_addresses_of_their_node_only() -> None:
    bridge = cni(PLAN)["plugins"][0]  # type: ignore[index]
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.200.129.0/24"}]]


def test_every_file_ends_up_in_the_configuration_folder() -> None:
    names = {"node.env", "kubelet.json", "containerd.toml", "resolv.conf"}
    assert files(PLAN).keys() == names | {"cni/10-windlass.conflist"}


@pytest.mark.parametrize(
    ("host", "want"),
    [
        pytest.param("nameserver 192.0.2.1\n", "nameserver 192.0.2.1\n", id="a real server"),
        pytest.param(
            "search lan\nnameserver 127.0.0.53\nnameserver 192.0.2.1\n",
            "nameserver 192.0.2.1\n",
            id="a stub beside a real one",
        ),
        pytest.param("nameserver 127.0.0.53\n", "nameserver 10.200.0.1\n", id="only a stub"),
        pytest.param("nameserver ::1\n", "nameserver 10.200.0.1\n", id="only a stub, IPv6"),
        pytest.param("nameserver\nnameserver x\n", "nameserver 10.200.0.1\n", id="nonsense"),
        pytest.param("", "nameserver 10.200.0.1\n", id="nothing"),
    ],
)
def test_a_node_gets_name_servers_that_it_can_reach(host: str, want: str) -> None:
    assert resolv_conf(host, IPv4Address("10.200.0.1")) == want
