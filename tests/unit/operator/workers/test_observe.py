import asyncio
from base64 import b64encode
from typing import Any

from tests.unit.operator.worlds import GivenWorld
from windlass.kube.kinds import CONTROLLER, NODE_SET, POD, SECRET, Kind
from windlass.operator.site import Site
from windlass.operator.workers.observe import Observed, observe
from windlass.values.key import Key

SITE = Site()


def thing(name: str, spec: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "hpc", "uid": f"u-{name}", **meta},
        "spec": spec or {},
    }


def node_set(name: str, controller: str = "slurm", **meta: Any) -> tuple[Kind, dict[str, Any]]:
    ssh = {"enabled": True, "sssdConfRef": {"name": "sssd", "key": "conf"}}
    spec = {"controllerRef": {"name": controller}, "replicas": 3, "ssh": ssh}
    return NODE_SET, thing(name, spec, **meta)


def pod(name: str, owner: str) -> tuple[Kind, dict[str, Any]]:
    return POD, thing(name, ownerReferences=[{"uid": f"u-{owner}", "controller": True}])


def look(*objects: tuple[Kind, dict[str, Any]]) -> Observed | None:
    return asyncio.run(observe(GivenWorld(objects), Key("hpc", "w"), SITE))


def test_all_that_concerns_the_set_is_read() -> None:
    secret = {
        "metadata": {"name": "sssd", "namespace": "hpc"},
        "data": {"conf": b64encode(b"x").decode()},
    }
    seen = look(
        node_set("w"),
        node_set("a"),
        node_set("going", deletionTimestamp="2026-07-01T12:00:00Z"),
        node_set("elsewhere", "other"),
        (CONTROLLER, thing("slurm")),
        pod("w-0", "w"),
        pod("w-1", "somebody"),
        (SECRET, secret),
    )

    assert seen is not None
    assert seen.controller is not None
    assert seen.controller.metadata.uid == "u-slurm"
    assert [meta.name for meta in seen.siblings] == ["a", "w"]
    assert [each.metadata.name for each in seen.pods] == ["w-0"]
    assert seen.strangers == {"w-1"}
    assert seen.sssd_conf == b"x"
    assert seen.slurm is None


def test_what_is_not_there_is_none() -> None:
    seen = look(node_set("w"))

    assert seen is not None
    assert (seen.controller, seen.pods, seen.sssd_conf) == (None, (), None)
    assert [meta.name for meta in seen.siblings] == ["w"]


def test_a_set_that_is_gone_or_going_is_not_looked_at() -> None:
    assert look() is None
    assert look(node_set("w", deletionTimestamp="2026-07-01T12:00:00Z")) is None
