"""Pods that Slurm places, pods of others, and slurmd on one node."""

from typing import Any

import msgspec
import pytest

from tests.unit.bridge.staging import Stage, play
from tests.unit.bridge.test_external_nodes import RULES, host, known
from windlass.bridge import words
from windlass.bridge.devices import DEFAULT
from windlass.bridge.external import external
from windlass.bridge.names import names, sharing
from windlass.bridge.neighbours import Neighbourhood
from windlass.bridge.node_plan import COMMENT, decide
from windlass.kube import kinds, requests
from windlass.kube.objects import Node
from windlass.kube.wire import Document
from windlass.slurm import wire
from windlass.values.key import Key

NANO = 10**9
MIB = NANO * 2**20


@pytest.mark.parametrize(
    ("taken", "cpus", "memory"),
    [
        ({}, 7, 16000),
        ({"cpu": NANO // 2}, 7, 16000),
        ({"cpu": NANO}, 6, 16000),
        ({"memory": MIB}, 7, 15936),
        ({"memory": 100 * MIB, "cpu": 2 * NANO, "pods": 3 * NANO}, 5, 15872),
    ],
)
def test_what_daemons_request_is_not_slurms_to_give(
    taken: dict[str, int], cpus: int, memory: int
) -> None:
    found = external(host(), DEFAULT, taken)
    assert found is not None
    assert (found.cpus, found.memory) == (cpus, memory)


def test_a_node_full_of_daemons_is_none_of_slurms() -> None:
    assert external(host(), DEFAULT, {"cpu": 8 * NANO}) is None


@pytest.mark.parametrize(
    ("workers", "labels", "called"),
    [
        ({}, {}, "n1"),
        ({"n1": ("slurm-7",)}, {}, "slurm-7"),
        ({"n1": ("slurm-7",)}, {words.NODE_NAME: "x"}, "x"),
        ({"n1": ("slurm-7", "slurm-8")}, {}, "n1"),
        ({"n2": ("slurm-7",)}, {}, "n1"),
    ],
)
def test_a_node_is_called_like_the_slurmd_that_runs_there(
    workers: dict[str, tuple[str, ...]], labels: dict[str, str], called: str
) -> None:
    found = names([host(labels=labels)], workers)
    assert (found.slurm, found.kube) == ({"n1": called}, {called: "n1"})


LABELLED = {words.EXTERNAL_NODE: "true"}


@pytest.mark.parametrize(
    ("labels", "workers", "left"),
    [
        ({}, ("slurm-7",), ("slurm-7",)),
        (LABELLED, ("slurm-7",), ()),
        (LABELLED, ("slurm-7", "n1"), ("n1",)),
        (LABELLED | {words.NODE_NAME: "x"}, ("x", "n1"), ("x",)),
    ],
)
def test_a_slurmd_on_a_node_that_was_given_to_slurm_is_a_guest_unless_it_has_its_name(
    labels: dict[str, str], workers: tuple[str, ...], left: tuple[str, ...]
) -> None:
    node = msgspec.convert({"metadata": {"name": "n1", "labels": labels}}, Node)
    found = sharing([node], {"n1": workers})
    assert found == ({"n1": left} if left else {})


def test_where_slurmd_runs_no_node_is_made_and_one_that_was_goes() -> None:
    there = Neighbourhood(workers={"n1": ("n1",)})
    assert not decide([host()], {}, RULES, there)
    assert not decide([host()], {"n1": known("IDLE+DYNAMIC_NORM", comment="")}, RULES, there)
    plan = decide([host()], {"n1": known()}, RULES, there)
    assert [update.state for _, update in plan.update] == ["DRAIN"]
    assert decide([host()], {"n1": known("IDLE+EXTERNAL+DRAIN")}, RULES, there).forget == ("n1",)


# --- with the whole bridge at work ------------------------------------------------------------


async def _neighbour(stage: Stage, name: str, cpu: str, **given: Any) -> None:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    spec = {"schedulerName": "default-scheduler", "nodeName": "n1", "containers": [container]}
    await stage.create(kinds.POD, name, metadata=given, spec=spec)


async def _allocatable(stage: Stage, name: str, **amounts: str) -> None:
    change = {"status": {"allocatable": amounts}}
    at = Key("", name)
    await stage.kube.send(requests.merge_patch(kinds.NODE, at, change, Document, "status"))


def _cpus(stage: Stage) -> int:
    node = stage.slurm.cluster.nodes.get("n1")
    return node.cpus if node else 0


def test_a_new_daemon_makes_a_node_smaller_once_it_is_free() -> None:
    async def story(stage: Stage) -> None:
        body = {"name": "n1", "labels": {words.EXTERNAL_NODE: ""}}
        address = [{"type": "InternalIP", "address": "10.0.0.1"}]
        amounts = {"cpu": "4", "memory": "4000Mi", "pods": "10"}
        daemon = {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "d"}]}
        await stage.create(kinds.NODE, "n1", metadata=body)
        status = {"status": {"addresses": address, "allocatable": amounts}}
        at = Key("", "n1")
        await stage.kube.send(requests.merge_patch(kinds.NODE, at, status, Document, "status"))
        await stage.until(lambda: _cpus(stage) == 4)
        await stage.until(lambda: stage.slurm.cluster.nodes["n1"].comment == COMMENT + "blue")
        await stage.pod("p")
        await stage.until(lambda: stage.host("p") == "n1")
        await _neighbour(stage, "d-1", "100m", **daemon)
        await stage.until(lambda: "DRAIN" in (stage.slurm.cluster.nodes["n1"].state or ()))
        assert _cpus(stage) == 4
        await stage.phase("p", "Succeeded")
        await stage.until(lambda: _cpus(stage) == 3)
        await stage.phase("d-1", "Succeeded")
        with pytest.raises(AssertionError):
            await stage.until(lambda: _cpus(stage) == 4, within=300)
        await stage.until(lambda: _cpus(stage) == 4, within=600)

    play(story)


def test_a_pod_goes_where_guests_leave_it_room() -> None:
    async def story(stage: Stage) -> None:
        for name in ("n1", "n2"):
            await stage.node(name)
            await _allocatable(stage, name, cpu="4", pods="10")
        await _neighbour(stage, "guest", "3")
        await stage.pod("p", cpus=2)
        await stage.until(lambda: stage.host("p") == "n2")
        await stage.pod("q", cpus=1)
        await stage.until(lambda: stage.host("q") == "n1")

    play(story)


GPU = "nvidia.com/gpu"


def _wants(**amounts: str) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"limits": amounts}}
    return {"spec": {"containers": [container]}}


@pytest.mark.parametrize(("count", "hosts"), [("1", {"n2"}), ("0", {"n1", "n2"})])
def test_a_pod_that_wants_a_plugins_device_goes_where_kubelet_has_some(
    count: str, hosts: set[str]
) -> None:
    """To Slurm a GPU of any type will do, also one that only a claim could give."""

    async def story(stage: Stage) -> None:
        for name, more in (("n1", {}), ("n2", {GPU: "4"})):
            await stage.node(name)
            stage.slurm.cluster.nodes[name].gres = "gpu:4"
            await _allocatable(stage, name, cpu="4", pods="10", **more)
        await stage.pod("first", **_wants(cpu="3", **{GPU: count}))
        await stage.until(lambda: stage.host("first") in hosts)
        await stage.pod("second", **_wants(cpu="1", **{GPU: count}))
        await stage.until(lambda: stage.host("second") in hosts)

    play(story)


def test_a_node_that_gets_devices_takes_those_that_wait_for_them() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        stage.slurm.cluster.nodes["n1"].gres = "gpu:4"
        await _allocatable(stage, "n1", cpu="4", pods="10")
        await stage.pod("p", **_wants(cpu="1", **{GPU: "1"}))
        await stage.until(lambda: stage.condition("p").get("reason") == "NoNodeFits")
        await _allocatable(stage, "n1", cpu="4", pods="10", **{GPU: "4"})
        await stage.until(lambda: stage.host("p") == "n1")

    play(story)


def test_nobody_is_bound_where_kubelet_would_refuse() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _allocatable(stage, "n1", cpu="4", pods="10")
        await stage.pod("first", cpus=4)
        await stage.until(lambda: stage.host("first") == "n1")
        await stage.pod("p", cpus=4)
        await stage.until(lambda: stage.jobs("PENDING") != [])
        await stage.phase("first", "Succeeded")
        await stage.until(lambda: stage.jobs("CANCELLED") != [])
        await _neighbour(stage, "guest", "1")
        stage.start(2)
        await stage.until(lambda: stage.condition("p").get("reason") == "NodeFull")
        sentence = "n1 has 3 of cpu left, and the pod requests 4"
        assert stage.condition("p")["message"] == sentence
        assert not stage.host("p")
        await stage.phase("guest", "Succeeded")
        await stage.until(lambda: stage.host("p") == "n1", within=90)

    play(story)


def test_the_place_of_a_pod_that_was_just_bound_is_not_given_back() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _allocatable(stage, "n1", cpu="4", pods="10")
        await stage.pod("p", cpus=4)
        await stage.until(lambda: stage.jobs("RUNNING") != [])
        stage.late, stage.lagging = 120.0, f"spec.schedulerName={words.SCHEDULER}"
        await stage.until(lambda: stage.host("p") == "n1")
        await _neighbour(stage, "guest", "1")
        label = {"metadata": {"labels": {"wakes": "all"}}}
        await stage.kube.send(requests.merge_patch(kinds.NODE, Key("", "n1"), label, Document))
        with pytest.raises(AssertionError):
            await stage.until(lambda: stage.jobs("CANCELLED") != [], within=100)
        assert stage.condition("p").get("status") != "False"

    play(story)


def test_pods_and_slurm_share_a_node_of_slurmd() -> None:
    async def story(stage: Stage) -> None:
        await stage.create(kinds.NODE, "n1")
        stage.slurm.cluster.nodes["slurm-0"] = wire.WireNode(
            name="slurm-0",
            state=["IDLE", "DYNAMIC_NORM"],
            cpus=4,
            real_memory=4000,
            partitions=["all"],
        )
        stage.slurm.cluster.touch("nodes")
        labels = {
            "app.kubernetes.io/name": "slurmd",
            "app.kubernetes.io/component": "worker",
            "nodeset.slinky.slurm.net/pod-hostname": "slurm-0",
        }
        await stage.pod("p", cpus=2)
        await stage.until(lambda: stage.condition("p").get("reason") == "NoNodeFits")
        await _neighbour(stage, "slurm-0", "0", labels=labels)
        await stage.until(lambda: stage.host("p") == "n1")
        assert stage.jobs()[0].nodes == "slurm-0"

    assert play(story).calls("POST /new/node/") == 0


def test_a_place_on_a_node_that_kubernetes_has_not_is_given_back() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=4)
        await stage.pod("first", cpus=4)
        await stage.until(lambda: stage.host("first") == "n1")
        await stage.pod("p", cpus=4)
        await stage.until(lambda: stage.jobs("PENDING") != [])
        stage.slurm.cluster.nodes["stranger"] = wire.WireNode(
            name="stranger",
            state=["IDLE", "EXTERNAL"],
            cpus=4,
            real_memory=4000,
            partitions=["all"],
        )
        stage.slurm.cluster.touch("nodes")
        stage.start(2)
        assert stage.jobs("RUNNING")[-1].nodes == "stranger"
        await stage.until(lambda: stage.condition("p").get("reason") == "NodeUnknown")
        await stage.until(lambda: stage.jobs("CANCELLED") != [], within=60)
        await stage.until(lambda: stage.jobs("PENDING") != [])
        await stage.phase("first", "Succeeded")
        await stage.until(lambda: len(stage.jobs("CANCELLED")) == 2)
        stage.start(3)
        await stage.until(lambda: stage.host("p") == "n1")

    play(story)
