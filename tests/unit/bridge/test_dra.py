"""Devices and CPUs of pods, as Slurm gave them, through claims."""

from typing import Any

import msgspec
import pytest

from tests.unit.bridge.builders import pod
from tests.unit.bridge.staging import Stage, play
from tests.unit.bridge.test_slices import GPU, cpu, published
from windlass.bridge import words
from windlass.bridge.devices import DEFAULT
from windlass.bridge.dra import DeviceClaim, ResourceClaim, claim, claim_name, held, wishes
from windlass.bridge.sharing import Device, Share
from windlass.bridge.slices import inventory
from windlass.kube import kinds, requests
from windlass.kube.errors import Unavailable
from windlass.kube.meta import Meta
from windlass.kube.objects import Pod
from windlass.kube.wire import Document
from windlass.values.key import Key
from windlass.values.reason import Reason

CLASS = words.DEVICE_CLASS + GPU
THERE = inventory(
    [
        published(GPU, *(f"gpu-{n}" for n in range(4))),
        published("dra.cpu", *map(cpu, range(4), range(4))),
    ]
)


def container(name: str = "c", **amounts: str) -> dict[str, Any]:
    keys = {"gpu": CLASS, "cpu": words.DRA_CPU}
    limits = {keys[key]: amount for key, amount in amounts.items()}
    return {"name": name, "image": "x", "resources": {"limits": limits}}


def _pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    return pod(spec={"containers": [*containers], **spec})


def gpus(bits: int) -> Share:
    return Share(devices=(Device("gpu", GPU, bits),))


@pytest.mark.parametrize(
    ("who", "share", "given", "mappings"),
    [
        (
            _pod(container(gpu="1")),
            gpus(0b0100),
            [("request-0", "gpu-2")],
            [("c", "request-0")],
        ),
        (
            _pod(container("a", gpu="1"), container("b", gpu="2")),
            gpus(0b1011),
            [("request-0", "gpu-0"), ("request-1", "gpu-1"), ("request-1", "gpu-3")],
            [("a", "request-0"), ("b", "request-1")],
        ),
        (
            _pod(container("a", gpu="2"), initContainers=[container("i", gpu="1")]),
            gpus(0b0011),
            [("request-0", "gpu-0"), ("request-0", "gpu-1")],
            [("a", "request-0"), ("i", "request-0")],
        ),
        (
            _pod(container("c", cpu="2")),
            Share(cpus=0b1010),
            [("request-0", "cpudev001"), ("request-0", "cpudev003")],
            [("c", "request-0")],
        ),
    ],
)
def test_each_container_gets_its_part_of_the_share(
    who: Pod, share: Share, given: list[tuple[str, str]], mappings: list[tuple[str, str]]
) -> None:
    found = claim(who, share, THERE, DEFAULT)
    assert isinstance(found, DeviceClaim)
    assert [(each["request"], each["device"]) for each in found.results] == given
    assert [(each["containerName"], each["requestName"]) for each in found.mappings] == mappings
    assert {each["pool"] for each in found.results} == {"n1-pool"}
    counts = {each["name"]: each["exactly"]["count"] for each in found.spec["devices"]["requests"]}
    assert sum(counts.values()) == len(given)


@pytest.mark.parametrize("share", [gpus(0b0001), gpus(0b110000), Share()])
def test_what_drivers_do_not_show_is_waited_for(share: Share) -> None:
    found = claim(_pod(container(gpu="2")), share, THERE, DEFAULT)
    assert isinstance(found, Reason)
    assert found.code == "DevicesMissing"


def test_a_pod_without_such_devices_has_no_wishes() -> None:
    plain = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "1"}}}
    assert wishes(_pod(plain).spec) == ()


def test_a_claim_says_again_what_was_given() -> None:
    results = [
        {"driver": GPU, "pool": "n1-pool", "device": "gpu-2"},
        {"driver": "dra.cpu", "pool": "n1-pool", "device": "cpudev003"},
    ]
    body = {
        "metadata": {"name": "x"},
        "status": {"allocation": {"devices": {"results": results}}},
    }
    found = held(_read(body), THERE, DEFAULT)
    assert found == Share(0b1000, (Device("gpu", GPU, 0b0100),))


def _read(body: dict[str, Any]) -> ResourceClaim:
    return msgspec.convert(body, ResourceClaim)


# --- with the whole bridge at work ------------------------------------------------------------


async def _node(stage: Stage, devices: int = 4) -> None:
    await stage.create(kinds.NODE, "n1", metadata={"labels": {words.EXTERNAL_NODE: ""}})
    status = {
        "allocatable": {"cpu": "8", "memory": "4000Mi", "pods": "10"},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
    }
    at = Key("", "n1")
    patch = requests.merge_patch(kinds.NODE, at, {"status": status}, Document, "status")
    await stage.kube.send(patch)
    pool = {"name": "n1-pool", "generation": 1, "resourceSliceCount": 1}
    spec = {
        "driver": GPU,
        "nodeName": "n1",
        "pool": pool,
        "devices": [{"name": f"gpu-{number}"} for number in range(devices)],
    }
    await stage.create(kinds.RESOURCE_SLICE, "n1-gpus", spec=spec)
    await stage.until(lambda: f"gpu:{GPU}:{devices}" in _gres(stage))
    await stage.until(lambda: "DRAIN" not in (stage.slurm.cluster.nodes["n1"].state or ()))


def _gres(stage: Stage) -> str:
    node = stage.slurm.cluster.nodes.get("n1")
    return node.gres if node else ""


def _claim(stage: Stage, name: str) -> dict[str, Any] | None:
    live = stage.live(name)["metadata"]
    called = claim_name(Meta(name=name, uid=live["uid"]))
    return stage.kube.find(kinds.RESOURCE_CLAIM, Key("team", called))


def _given(stage: Stage, name: str) -> list[str]:
    found = _claim(stage, name)
    assert found is not None
    return [each["device"] for each in found["status"]["allocation"]["devices"]["results"]]


async def _bound(stage: Stage, name: str, count: int) -> None:
    await stage.pod(name, spec={"containers": [container(gpu=str(count))]})
    await stage.until(lambda: stage.host(name) == "n1")


def test_pods_get_the_devices_that_slurm_gave_and_no_device_goes_to_two() -> None:
    async def story(stage: Stage) -> None:
        await _node(stage)
        await _bound(stage, "a", 2)
        await _bound(stage, "b", 2)
        assert sorted(_given(stage, "a") + _given(stage, "b")) == [f"gpu-{n}" for n in range(4)]
        found = _claim(stage, "a")
        assert found is not None
        uid = stage.live("a")["metadata"]["uid"]
        assert found["status"]["reservedFor"] == [{"resource": "pods", "name": "a", "uid": uid}]
        assert found["metadata"]["ownerReferences"][0]["uid"] == uid
        shown = stage.live("a")["status"]["extendedResourceClaimStatus"]
        assert shown["resourceClaimName"] == found["metadata"]["name"]
        await stage.phase("a", "Succeeded")
        await stage.until(lambda: _claim(stage, "a") is None)
        await stage.until(lambda: len(stage.jobs("RUNNING")) == 1)
        await _bound(stage, "c", 2)
        assert sorted(_given(stage, "b") + _given(stage, "c")) == [f"gpu-{n}" for n in range(4)]

    play(story)


def test_a_driver_is_told_what_the_class_configures() -> None:
    opaque = {"driver": GPU, "parameters": {"sharing": {"strategy": "TimeSlicing"}}}

    async def story(stage: Stage) -> None:
        await _node(stage)
        await _bound(stage, "before", 1)
        await stage.create(kinds.DEVICE_CLASS, GPU, spec={"config": [{"opaque": opaque}]})
        await _bound(stage, "after", 1)
        assert _configured(stage, "before") is None
        told = [{"source": "FromClass", "requests": ["request-0"], "opaque": opaque}]
        assert _configured(stage, "after") == told

    play(story)


def _configured(stage: Stage, name: str) -> Any:
    found = _claim(stage, name)
    assert found is not None
    return found["status"]["allocation"]["devices"].get("config")


def test_a_bridge_that_was_stopped_before_the_binding_uses_its_claim() -> None:
    failures = [True]

    def before(request: requests.Request[Any]) -> Unavailable | None:
        if " ".join(request.name) == "create Pod/binding" and failures:
            failures.pop()
            return Unavailable("not now")
        return None

    async def story(stage: Stage) -> None:
        await _node(stage)
        stage.kube.before = before
        await _bound(stage, "a", 1)

    asked = [" ".join(each.name) for each in play(story).kube.asked]
    assert asked.count("create ResourceClaim") == 1
    assert asked.count("create Pod/binding") == 2


def test_members_of_a_gang_on_one_node_share_its_devices() -> None:
    async def story(stage: Stage) -> None:
        await _node(stage)
        spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
        job = await stage.create(kinds.JOB, "j", spec=spec)
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job.metadata.uid}
        for index in range(2):
            labels = {words.COMPLETION_INDEX: str(index)}
            owners = [{**owner, "controller": True}]
            given = {"containers": [container(gpu="2")]}
            await stage.pod(f"j-{index}", labels=labels, ownerReferences=owners, spec=given)
        await stage.until(lambda: bool(stage.host("j-0") and stage.host("j-1")))
        assert _given(stage, "j-0") + _given(stage, "j-1") == [f"gpu-{n}" for n in range(4)]

    play(story)
