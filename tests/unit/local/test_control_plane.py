from ipaddress import IPv4Network
from pathlib import Path

import pytest

from windlass.local import control_plane
from windlass.local.addresses import Addresses
from windlass.local.control_plane import Place
from windlass.local.network import Network
from windlass.local.record import NodeRecord

ADDRESSES = Addresses(IPv4Network("10.200.0.0/16"))
PLACE = Place(Path("/pki"), Path("/data"), "10.200.0.1")
ALL = {
    "etcd": control_plane.etcd(PLACE),
    "kube-apiserver": control_plane.kube_apiserver(PLACE, str(ADDRESSES.services)),
    "kube-controller-manager": control_plane.kube_controller_manager(PLACE, ADDRESSES),
    "kube-scheduler": control_plane.kube_scheduler(PLACE),
}


def test_every_component_is_here() -> None:
    assert tuple(ALL) == control_plane.NAMES
    assert [argv[0] for argv in ALL.values()] == list(control_plane.NAMES)


@pytest.mark.parametrize("name", control_plane.NAMES)
def test_nothing_listens_beyond_the_clusters_own_address(name: str) -> None:
    text = " ".join(ALL[name])
    assert "0.0.0.0" not in text
    assert "10.200.0.1" in text


def test_etcd_speaks_to_holders_of_a_certificate_only() -> None:
    assert "--client-cert-auth=true" in ALL["etcd"]
    assert not any(word.startswith("http://") or "=http://" in word for word in ALL["etcd"])


def test_nodes_may_only_change_themselves() -> None:
    assert "--authorization-mode=Node,RBAC" in ALL["kube-apiserver"]
    assert "--enable-admission-plugins=NodeRestriction" in ALL["kube-apiserver"]


def test_every_firewall_rule_names_the_bridge_so_that_it_can_be_found_again() -> None:
    rules = Network("wlabc", ADDRESSES).rules()
    assert rules
    assert all("wlabc" in rule for _, _, rule in rules)


def test_links_of_a_cluster_begin_with_its_prefix() -> None:
    assert Network("wlabc", ADDRESSES).link(NodeRecord("x", 7)) == "wlabcn7"
