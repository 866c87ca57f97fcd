"""Labelled nodes of Kubernetes as nodes of Slurm."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.unit.bridge.staging import Stage, play
from windlass.bridge import words
from windlass.bridge.devices import DEFAULT, DeviceMap
from windlass.bridge.external import external, line
from windlass.bridge.node_plan import COMMENT, NodeRules, decide
from windlass.kube import kinds, requests
from windlass.kube.objects import Node
from windlass.kube.wire import Document
from windlass.slurm import model
from windlass.slurm.specs import NodeUpdate
from windlass.values.key import Key
from windlass.values.states import NodeState

RULES = NodeRules("blue", DEFAULT, ("DiskPressure",))
AMOUNTS = {"cpu": "7900m", "memory": "16000Mi"}


def _host(name: str = "n1", **given: Any) -> dict[str, Any]:
    labels = {words.EXTERNAL_NODE: "", **given.get("labels", {})}
    status = {
        "allocatable": given.get("amounts", AMOUNTS),
        "addresses": [{"type": "InternalIP", "address": given.get("address", "10.0.0.1")}],
        "conditions": given.get("conditions", [{"type": "Ready", "status": "True"}]),
    }
    meta = {"name": name, "labels": labels, "annotations": given.get("annotations")}
    return {"metadata": meta, "spec": given.get("spec", {}), "status": status}


def host(name: str = "n1", **given: Any) -> Node:
    return msgspec.convert(_host(name, **given), Node)


def known(state: str = "IDLE+EXTERNAL", **given: Any) -> model.Node:
    base = {"name": "n1", "cpus": 7, "memory": 16000, "address": "10.0.0.1"}
    return model.Node(
        **{**base, "comment": COMMENT + "blue", **given}, state=NodeState.parse(state.split("+"))
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {},
            "NodeName=n1 NodeAddr=10.0.0.1 CPUs=7 Sockets=1 CoresPerSocket=7 ThreadsPerCore=1"
            " RealMemory=16000 State=EXTERNAL",
        ),
        (
            {"labels": {"feature.node.kubernetes.io/cpu-hardware_multithreading": "true"}},
            "NodeName=n1 NodeAddr=10.0.0.1 CPUs=6 Sockets=1 CoresPerSocket=3 ThreadsPerCore=2"
            " RealMemory=16000 State=EXTERNAL",
        ),
        (
            {
                "labels": {words.NODE_NAME: "slurm-1"},
                "amounts": {**AMOUNTS, "nvidia.com/gpu": "2"},
                "annotations": {
                    words.EXTERNAL_NODE_PARTITIONS: "gpu, bridge",
                    words.TOPOLOGY: "default:b1",
                },
            },
            "NodeName=slurm-1 NodeAddr=10.0.0.1 CPUs=7 Sockets=1 CoresPerSocket=7 ThreadsPerCore=1"
            " RealMemory=16000 State=EXTERNAL Feature=gpu,bridge Topology=default:b1"
            ' Gres="gpu:2" GresConf="count=2,name=gpu,file=gpu-0,file=gpu-1"',
        ),
    ],
)
def test_a_node_is_told_as_it_is(given: dict[str, Any], told: str) -> None:
    found = external(host(**given), DEFAULT)
    assert found is not None
    assert line((found,)) == told


@pytest.mark.parametrize(
    ("amounts", "told"),
    [
        ({"nvidia.com/gpu": "2", "example.com/nic": "1"}, ["gpu:2"]),
        ({"nvidia.com/mig-1g.5gb": "4", "nvidia.com/mig-2g.10gb": "2"}, ["gpu:1g.5gb:4"]),
        ({"example.com/nic": "1", "example.com/fpga": "3"}, ["fpga:3", "nic:1"]),
    ],
)
def test_only_devices_that_slurm_can_be_told_together_are_told(
    amounts: dict[str, str], told: list[str]
) -> None:
    more = {"example.com/nic": "gres/nic", "example.com/fpga": "gres/fpga"}
    devices = DeviceMap((*DEFAULT.targets, *DeviceMap.parse(more).targets))
    found = external(host(amounts={**AMOUNTS, **amounts}), devices)
    assert found is not None
    assert [str(one) for one in found.gres] == told
    assert line((found,)).count("GresConf") == sum(one.startswith("gpu") for one in told)


@pytest.mark.parametrize("given", [{"labels": {}}, {"amounts": {}}, {"address": ""}])
def test_a_node_without_label_or_room_or_address_is_none_of_slurms(given: dict[str, Any]) -> None:
    body = _host(**given)
    if "labels" in given:
        body["metadata"]["labels"] = {}
    assert external(msgspec.convert(body, Node), DEFAULT) is None


def test_nodes_alike_are_made_by_one_call_and_those_with_devices_one_by_one() -> None:
    gpus = {**AMOUNTS, "nvidia.com/gpu": "1"}
    hosts = [
        host("n1"),
        host("n2", address="10.0.0.2"),
        host("g1", amounts=gpus),
        host("g2", amounts=gpus),
    ]
    plan = decide(hosts, {}, RULES)
    lines = [line(alike) for alike in plan.create]
    names = [each.split()[0] for each in lines]
    assert names == ["NodeName=g1", "NodeName=g2", "NodeName=n1,n2"]
    assert "NodeAddr=10.0.0.1,10.0.0.2" in lines[-1]


@pytest.mark.parametrize(
    ("annotations", "feature"),
    [
        (None, "Feature=pods,more"),
        ({words.EXTERNAL_NODE_PARTITIONS: "gpu"}, "Feature=gpu"),
        ({words.EXTERNAL_NODE_PARTITIONS: ""}, ""),
    ],
)
def test_a_node_that_names_no_partitions_is_in_that_of_the_bridge(
    annotations: dict[str, str] | None, feature: str
) -> None:
    rules = replace(RULES, partition="pods,more")
    (alike,) = decide([host(annotations=annotations)], {}, rules).create
    assert line(alike).partition("State=EXTERNAL")[2].strip() == feature


DRAIN = "slurm-bridge: cordoned in Kubernetes"
UNREADY = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
DISK = {"conditions": [{"type": "DiskPressure", "status": "True"}]}


@pytest.mark.parametrize(
    ("given", "node", "updates"),
    [
        ({}, known(), []),
        ({}, known(comment=""), [NodeUpdate(comment=COMMENT + "blue")]),
        ({"spec": {"unschedulable": True}}, known(), [NodeUpdate(state="DRAIN", reason=DRAIN)]),
        ({"spec": {"unschedulable": True}}, known("IDLE+EXTERNAL+DRAIN", reason=DRAIN), []),
        ({"spec": {"unschedulable": True}}, known("IDLE+EXTERNAL+DRAIN", reason="disk"), []),
        (
            UNREADY,
            known(),
            [NodeUpdate(state="DRAIN", reason="slurm-bridge: not ready in Kubernetes")],
        ),
        (
            DISK,
            known(),
            [NodeUpdate(state="DRAIN", reason="slurm-bridge: DiskPressure in Kubernetes")],
        ),
        ({}, known("IDLE+EXTERNAL+DRAIN", reason=DRAIN), [NodeUpdate(state="UNDRAIN")]),
        ({}, known("IDLE+EXTERNAL+DRAIN", reason="disk"), []),
        ({}, known("MIXED"), []),
        ({}, known(comment=COMMENT + "green"), []),
        (
            {"annotations": {words.EXTERNAL_NODE_PARTITIONS: "gpu"}},
            known(),
            [NodeUpdate(features=("gpu",), active_features=("gpu",))],
        ),
        (
            {},
            known("MIXED+EXTERNAL", cpus=5),
            [
                NodeUpdate(
                    state="DRAIN", reason="slurm-bridge: made anew with what the node has now"
                )
            ],
        ),
    ],
)
def test_a_node_of_slurm_follows_that_of_kubernetes(
    given: dict[str, Any], node: model.Node, updates: list[NodeUpdate]
) -> None:
    plan = decide([host(**given)], {"n1": node}, RULES)
    assert [each for _, each in plan.update] == updates
    assert (plan.create, plan.forget) == ((), ())


@pytest.mark.parametrize(
    ("hosts", "node", "forgotten"),
    [
        ([host()], known("IDLE+EXTERNAL+DRAIN", reason="slurm-bridge: x", cpus=5), True),
        ([host()], known("MIXED+EXTERNAL+DRAIN", reason="slurm-bridge: x", cpus=5), False),
        ([host()], known("IDLE+EXTERNAL+DRAIN", reason="disk", cpus=5), False),
        ([], known("IDLE+EXTERNAL+DRAIN", reason="disk"), True),
        ([], known("IDLE+EXTERNAL"), False),
        ([], known("IDLE+DRAIN", reason="slurm-bridge: x"), False),
        ([], known("IDLE+EXTERNAL+DRAIN", comment=COMMENT + "green"), False),
        ([], known("IDLE+EXTERNAL+DRAIN", comment="somebody's"), False),
    ],
)
def test_only_what_is_ours_and_free_is_taken_from_slurm(
    hosts: list[Node], node: model.Node, forgotten: bool
) -> None:
    assert decide(hosts, {"n1": node}, RULES).forget == (("n1",) if forgotten else ())


def test_two_nodes_that_are_one_to_slurm_are_not_told() -> None:
    twins = [host(name, labels={words.NODE_NAME: "x"}) for name in ("n1", "n2")]
    assert not decide(twins, {}, RULES)


# --- with the whole bridge at work ------------------------------------------------------------


async def _add(stage: Stage, name: str, **given: Any) -> None:
    body = _host(name, **given)
    await stage.create(
        kinds.NODE, name, metadata=body["metadata"], spec=body["spec"], status=body["status"]
    )
    await _status(stage, name, body["status"])


async def _status(stage: Stage, name: str, status: dict[str, Any]) -> None:
    request = requests.merge_patch(
        kinds.NODE, Key("", name), {"status": status}, Document, "status"
    )
    await stage.kube.send(request)


def _state(stage: Stage, name: str) -> NodeState:
    return NodeState.parse(stage.slurm.cluster.nodes[name].state or [])


def test_a_labelled_node_comes_takes_pods_and_goes_when_they_have() -> None:
    async def story(stage: Stage) -> None:
        await _add(stage, "n1")
        await stage.until(lambda: "n1" in stage.slurm.cluster.nodes)
        await stage.until(lambda: stage.slurm.cluster.nodes["n1"].comment == COMMENT + "blue")
        await stage.pod("p")
        await stage.until(lambda: stage.host("p") == "n1")
        cordon = requests.merge_patch(
            kinds.NODE, Key("", "n1"), {"spec": {"unschedulable": True}}, Document
        )
        await stage.kube.send(cordon)
        await stage.until(lambda: _state(stage, "n1").drain)
        assert len(stage.jobs("RUNNING")) == 1
        free = requests.merge_patch(
            kinds.NODE, Key("", "n1"), {"spec": {"unschedulable": False}}, Document
        )
        await stage.kube.send(free)
        await stage.until(lambda: not _state(stage, "n1").drain)
        bare = {"metadata": {"labels": {words.EXTERNAL_NODE: None}}}
        await stage.kube.send(requests.merge_patch(kinds.NODE, Key("", "n1"), bare, Document))
        await stage.until(lambda: _state(stage, "n1").draining)
        await stage.phase("p", "Succeeded")
        await stage.until(lambda: "n1" not in stage.slurm.cluster.nodes)

    stage = play(story)
    assert stage.calls("POST /new/node/") == 1


def test_a_node_whose_label_is_taken_away_as_soon_as_it_is_there_goes() -> None:
    async def story(stage: Stage) -> None:
        await _add(stage, "n1")
        await stage.until(lambda: "n1" in stage.slurm.cluster.nodes)
        bare = {"metadata": {"labels": {words.EXTERNAL_NODE: None}}}
        await stage.kube.send(requests.merge_patch(kinds.NODE, Key("", "n1"), bare, Document))
        await stage.until(lambda: "n1" not in stage.slurm.cluster.nodes)

    play(story)


def test_a_node_that_has_grown_is_made_anew_once_it_is_free() -> None:
    async def story(stage: Stage) -> None:
        await _add(stage, "n1")
        await stage.until(lambda: "n1" in stage.slurm.cluster.nodes)
        await stage.pod("p")
        await stage.until(lambda: stage.host("p") == "n1")
        await _status(stage, "n1", {"allocatable": {"cpu": "16"}})
        await stage.until(lambda: _state(stage, "n1").draining)
        await stage.phase("p", "Succeeded")
        await stage.until(lambda: _cpus(stage) == 16)
        assert not _state(stage, "n1").drain

    play(story)


def _cpus(stage: Stage) -> int:
    node = stage.slurm.cluster.nodes.get("n1")
    return node.cpus if node else 0


def test_nodes_that_rest_cost_no_call() -> None:
    async def story(stage: Stage) -> None:
        for number in range(20):
            await _add(stage, f"n{number}", address=f"10.0.0.{number}")
        await stage.until(lambda: len(stage.slurm.cluster.nodes) == 20)
        await stage.until(lambda: all(node.comment for node in stage.slurm.cluster.nodes.values()))
        await _status(stage, "n1", {"images": []})
        before = [call for call in stage.slurm.calls if not call.startswith("GET")]
        with pytest.raises(AssertionError):
            await stage.until(lambda: _writes(stage) != len(before), within=60)

    assert play(story).calls("POST /new/node/") <= 20


def _writes(stage: Stage) -> int:
    return sum(not call.startswith("GET") for call in stage.slurm.calls)
