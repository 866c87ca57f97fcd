"""What pods take on each node, whoever scheduled them."""

from itertools import count
from typing import Any

import msgspec
import pytest

from windlass.bridge.amounts import NANO
from windlass.bridge.ledger import Ledger
from windlass.bridge.neighbours import Neighbour
from windlass.bridge.ports import HostPort
from windlass.kube.objects import Pod
from windlass.kube.store import Store
from windlass.values.key import Key

VERSION = count(1)
WEB = HostPort("TCP", 80)


def _body(name: str = "p", **given: Any) -> dict[str, Any]:
    meta = {
        "name": name,
        "namespace": "team",
        "uid": given.get("uid", name),
        "resourceVersion": str(next(VERSION)),
        "ownerReferences": [{"kind": given["owner"]}] if "owner" in given else None,
    }
    ports = [{"hostPort": given["port"]}] if "port" in given else None
    resources = {"requests": {"cpu": given.get("cpu", "1")}}
    spec = {
        "nodeName": given.get("node", "n1"),
        "containers": [{"resources": resources, "ports": ports}],
    }
    return {"metadata": meta, "spec": spec, "status": {"phase": given.get("phase", "Running")}}


def pod(name: str = "p", **given: Any) -> Pod:
    return msgspec.convert(_body(name, **given), Pod)


def neighbour(name: str = "q", **given: Any) -> Neighbour:
    return msgspec.convert(_body(name, **given), Neighbour)


class Stage:
    def __init__(self) -> None:
        self.pods, self.others = Store[Pod](), Store[Neighbour]()
        self.ledger = Ledger(self.pods, self.others)
        self.freed: list[HostPort] = []
        self.stirred = 0
        self.ledger.on_free = self.freed.extend
        self.ledger.on_standing = self._stir

    def _stir(self) -> None:
        self.stirred += 1

    def cpus(self, node: str = "n1") -> tuple[int, int]:
        """In thousandths, of all and of those that belong to the node."""
        used, standing = self.ledger.used(node), self.ledger.standing(node)
        return used.get("cpu", 0) * 1000 // NANO, standing.get("cpu", 0) * 1000 // NANO


@pytest.mark.parametrize(
    ("given", "cpus"),
    [
        ({}, (1000, 0)),
        ({"cpu": "250m"}, (250, 0)),
        ({"node": ""}, (0, 0)),
        ({"node": "n2"}, (0, 0)),
        ({"phase": "Succeeded"}, (0, 0)),
        ({"phase": "Failed"}, (0, 0)),
    ],
)
def test_a_pod_takes_what_it_requests_while_it_is_there(
    given: dict[str, Any], cpus: tuple[int, int]
) -> None:
    stage = Stage()
    stage.pods.put(pod(**given))
    assert stage.cpus() == cpus
    stage.pods.remove(Key("team", "p"))
    assert stage.cpus() == (0, 0)


@pytest.mark.parametrize(
    ("owner", "standing"), [("DaemonSet", 1000), ("Node", 1000), ("ReplicaSet", 0)]
)
def test_pods_of_daemons_belong_to_their_node(owner: str, standing: int) -> None:
    stage = Stage()
    stage.others.put(neighbour(owner=owner))
    assert stage.cpus() == (1000, standing)
    assert stage.stirred == (1 if standing else 0)
    stage.others.put(neighbour(owner=owner))
    assert stage.stirred == (1 if standing else 0)
    stage.others.remove(Key("team", "q"))
    assert stage.cpus() == (0, 0)


def test_pods_add_up_and_are_counted() -> None:
    stage = Stage()
    stage.pods.put(pod("a"))
    stage.pods.put(pod("b", cpu="500m"))
    stage.others.put(neighbour("c"))
    assert stage.cpus() == (2500, 0)
    assert stage.ledger.guests()["n1"]["cpu"] == stage.ledger.foreign("n1")["cpu"] == NANO
    assert stage.ledger.used("n1")["pods"] == 3 * NANO


def test_a_pod_that_takes_over_a_name_is_another() -> None:
    stage = Stage()
    stage.pods.put(pod("p", uid="old"))
    stage.others.put(neighbour("p", uid="new", cpu="2"))
    stage.pods.remove(Key("team", "p"))
    assert stage.cpus() == (2000, 0)


def test_ports_are_known_while_they_are_taken_and_told_when_they_are_not() -> None:
    stage = Stage()
    stage.pods.put(pod("p", port=80))
    stage.others.put(neighbour("q", port=80, node="n2"))
    assert stage.ledger.nodes_with([WEB]) == {"n1", "n2"}
    assert stage.ledger.takers("n2", [WEB]) == {WEB: Key("team", "q")}
    assert stage.ledger.nodes_with([HostPort("UDP", 80)]) == frozenset()
    stage.pods.put(pod("p", port=80, phase="Succeeded"))
    assert stage.ledger.nodes_with([WEB]) == {"n2"}
    assert stage.freed == [WEB]
