"""What the bridge writes about pods, volumes, devices and nodes, alike on the fake API server and
on the real one."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any
from unittest.mock import Mock

import pytest

from tests.contract.kube_world import KubeWorld
from windlass.bridge import words
from windlass.bridge.claim_writer import ClaimWriter
from windlass.bridge.claims import Claims
from windlass.bridge.device_writer import DeviceWriter
from windlass.bridge.devices import DEFAULT
from windlass.bridge.dra import DeviceClaim, ResourceClaim, claim
from windlass.bridge.executor import Executor, Telling
from windlass.bridge.neighbours import Neighbour, selection
from windlass.bridge.observed import job_id, unmarked
from windlass.bridge.phases.mark import marked
from windlass.bridge.plan import PlaceClaim, Plan, Release, Seat, Target, TellGroup
from windlass.bridge.seats import Seats
from windlass.bridge.sharing import Device, Share
from windlass.bridge.slices import ResourceSlice, inventory
from windlass.bridge.workloads.objects import CorePodGroup
from windlass.kube import kinds, requests
from windlass.kube.kinds import Kind
from windlass.kube.meta import Condition
from windlass.kube.objects import Pod
from windlass.kube.reflector import Talks
from windlass.kube.requests import Deletion, Selection
from windlass.kube.store import Store
from windlass.kube.wire import Document
from windlass.values.key import Key
from windlass.values.reason import Reason

NS = "bridge-writes"
NOW = datetime(2026, 11, 16, tzinfo=UTC)
GPU = "gpu.example.com"
LATE = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
SPEC = {
    "storageClassName": "bridge-local",
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
}


async def _create(client: Talks, kind: Kind, name: str, **body: Any) -> Document:
    namespace = NS if kind.namespaced else ""
    meta = {"name": name, "namespace": namespace, **body.pop("metadata", {})}
    return await client.send(requests.create(kind, namespace, {"metadata": meta, **body}, Document))


async def _pod(client: Talks, name: str, **spec: Any) -> Pod:
    containers = [{"name": "c", "image": "x", **spec.pop("container", {})}]
    body = {
        "metadata": {"name": name, "namespace": NS},
        "spec": {"containers": containers, **spec},
    }
    return await client.send(requests.create(kinds.POD, NS, body, Pod))


async def gives_a_volume_to_a_claim(client: Talks) -> None:
    await _create(client, kinds.STORAGE_CLASS, "bridge-local", **LATE)
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
    volume = {
        "storageClassName": "bridge-local",
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "local": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    await _create(client, kinds.PERSISTENT_VOLUME, "bridge-v1", spec=volume)
    at = Key("", "bridge-v1")
    phase = {"status": {"phase": "Available"}}
    await client.send(requests.merge_patch(kinds.PERSISTENT_VOLUME, at, phase, Document, "status"))
    made = await _create(client, kinds.PERSISTENT_VOLUME_CLAIM, "static", spec=SPEC)
    uses = [{"name": "v", "persistentVolumeClaim": {"claimName": "static"}}]
    pod = await _pod(client, "static", volumes=uses)
    claims = Claims(client, lambda: NOW)
    (mount,) = (await claims.storage([pod])).mounts[pod.metadata.key]
    assert [each.name for each in mount.candidates] == ["bridge-v1"]
    assert mount.terms == (term,)
    one = mount.candidates[0]
    uid = made.metadata.uid
    await ClaimWriter(client).place(PlaceClaim(mount.claim, uid, "n1", one.name, one.version))
    found = await client.send(requests.get(kinds.PERSISTENT_VOLUME, at, Document))
    assert found.body["spec"]["claimRef"]["uid"] == uid
    (again,) = (await Claims(client, lambda: NOW).storage([pod])).mounts[pod.metadata.key]
    assert again.given


async def tells_a_claim_its_node(client: Talks) -> None:
    made = await _create(client, kinds.PERSISTENT_VOLUME_CLAIM, "dynamic", spec=SPEC)
    at = Key(NS, "dynamic")
    await ClaimWriter(client).place(PlaceClaim(at, "another", "n1"))
    await ClaimWriter(client).place(PlaceClaim(at, made.metadata.uid, "n2"))
    found = await client.send(requests.get(kinds.PERSISTENT_VOLUME_CLAIM, at, Document))
    notes = found.metadata.annotations or {}
    assert notes["volume.kubernetes.io/selected-node"] == "n2"


def _published() -> dict[str, Any]:
    return {
        "driver": GPU,
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": f"gpu-{number}", "attributes": {"index": {"int": number}}}
            for number in range(4)
        ],
    }


async def gives_devices_to_a_pod(client: Talks) -> None:
    opaque = {"driver": GPU, "parameters": {"kind": "GpuConfig"}}
    await _create(client, kinds.DEVICE_CLASS, GPU, spec={"config": [{"opaque": opaque}]})
    await _create(client, kinds.RESOURCE_SLICE, "bridge-n1", spec=_published())
    read = requests.get(kinds.RESOURCE_SLICE, Key("", "bridge-n1"), ResourceSlice)
    there = inventory([await client.send(read)])
    assert [each.name for each in there.devices[GPU]] == [f"gpu-{number}" for number in range(4)]
    limits = {words.DEVICE_CLASS + GPU: "2"}
    pod = await _pod(client, "devices", container={"resources": {"limits": limits}})
    share = Share(devices=(Device("gpu", GPU, 0b1010),))
    devices = claim(pod, share, there, DEFAULT)
    assert isinstance(devices, DeviceClaim)
    writer, target = DeviceWriter(client, lambda: NOW), Target(pod.metadata.key, pod.metadata.uid)
    for _ in range(2):  # the second time it is there
        assert await writer.give(target, devices, "n1")
    at = Key(NS, devices.name)
    found = await client.send(requests.get(kinds.RESOURCE_CLAIM, at, ResourceClaim))
    assert [each.name for each in found.given] == ["gpu-1", "gpu-3"]
    whole = await client.send(requests.get(kinds.RESOURCE_CLAIM, at, Document))
    (told,) = whole.body["status"]["allocation"]["devices"]["config"]
    assert told == {"source": "FromClass", "requests": ["request-0"], "opaque": opaque}
    shown = await client.send(requests.get(kinds.POD, pod.metadata.key, Document))
    status = shown.body["status"]["extendedResourceClaimStatus"]
    assert status["resourceClaimName"] == devices.name
    other = claim(pod, Share(devices=(Device("gpu", GPU, 0b0101),)), there, DEFAULT)
    assert isinstance(other, DeviceClaim)
    assert await writer.give(target, other, "n1")
    found = await client.send(requests.get(kinds.RESOURCE_CLAIM, at, ResourceClaim))
    assert [each.name for each in found.given] == ["gpu-0", "gpu-2"]
    await writer.take_back(target, devices.name)
    await writer.take_back(target, devices.name)


async def tells_a_group_whether_its_pods_have_places(client: Talks) -> None:
    spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    made = await _create(client, kinds.CORE_POD_GROUP, "g", spec=spec)
    telling = Telling(Mock(), lambda: NOW, Seats(Store()))
    executor = Executor(client, Mock(), Mock(), telling)
    at, since = Key(NS, "g"), "2026-11-16T00:00:00Z"
    for status, reason in (("False", "Unschedulable"), ("True", "Scheduled")):
        why = Reason(reason, "for a reason")
        told = TellGroup(at, made.metadata.uid, made.metadata.generation, status, why, since)
        await executor.carry_out(Plan(((told,),)))
        found = await client.send(requests.get(kinds.CORE_POD_GROUP, at, CorePodGroup))
        (shown,) = found.status.conditions or [Condition()]
        assert (shown.type, shown.status, shown.reason) == ("PodGroupScheduled", status, reason)


async def binds_a_pod_and_holds_it(client: Talks) -> None:
    def bridge() -> Executor:
        return Executor(client, Mock(), Mock(), Telling(Mock(), lambda: NOW, Seats(Store())))

    executor = bridge()
    made = await _pod(client, "held", terminationGracePeriodSeconds=0)
    at, target = made.metadata.key, Target(made.metadata.key, made.metadata.uid)
    await executor.carry_out(Plan(((Seat(target, 7, "n1"),),)))
    bound = await client.send(requests.get(kinds.POD, at, Pod))
    assert (bound.spec.node_name, job_id(bound)) == ("n1", 7)
    assert bound.metadata.labels == {words.JOB_ID: "7"}
    assert bound.metadata.annotations == {words.JOB_ID: "7", words.NODE: "n1"}
    assert unmarked(bound)
    unlabelled = {"metadata": {"labels": None}}  # as of an API server that takes no labels
    request = requests.merge_patch(kinds.POD, at, unlabelled, Pod)
    plain = await client.send(request)
    await executor.carry_out(Plan(((marked(plain, 7),),)))
    held = await client.send(requests.get(kinds.POD, at, Pod))
    assert held.metadata.finalizers == [words.FINALIZER]
    assert held.metadata.labels == {words.JOB_ID: "7"}
    await bridge().carry_out(Plan(((marked(plain, 7),),)))  # it is there: nothing is done twice
    assert await client.send(requests.get(kinds.POD, at, Pod)) == held
    await executor.carry_out(Plan(((Release(target),),)))
    freed = await client.send(requests.get(kinds.POD, at, Pod))
    assert not freed.metadata.finalizers
    await client.send(requests.delete(kinds.POD, at))
    await bridge().carry_out(Plan(((marked(freed, 7),),)))  # it is gone


async def does_not_hold_what_is_being_deleted(client: Talks) -> None:
    executor = Executor(client, Mock(), Mock(), Telling(Mock(), lambda: NOW, Seats(Store())))
    made = await _pod(client, "leaving")
    at, target = made.metadata.key, Target(made.metadata.key, made.metadata.uid)
    await executor.carry_out(Plan(((Seat(target, 7, "n1"),),)))
    bound = await client.send(requests.get(kinds.POD, at, Pod))
    await client.send(requests.delete(kinds.POD, at))
    await executor.carry_out(Plan(((marked(bound, 7),),)))
    found = await client.send(requests.get(kinds.POD, at, Pod))
    assert found.metadata.deletion_timestamp is not None
    assert not found.metadata.finalizers
    await client.send(requests.delete(kinds.POD, at, Deletion(grace_seconds=0)))


async def finds_the_pods_of_others(client: Talks) -> None:
    for name, given in (
        ("guest", {"nodeName": "n1"}),
        ("nowhere", {}),
        ("ours", {"nodeName": "n1", "schedulerName": words.SCHEDULER}),
    ):
        await _pod(client, name, **given)
    those = Selection(NS, fields=selection(words.SCHEDULER))
    page = await client.send(requests.list_page(kinds.POD, Neighbour, those))
    assert [each.metadata.name for each in page.items or ()] == ["guest"]


Scenario = Callable[[Talks], Awaitable[None]]
SCENARIOS: list[Scenario] = [
    gives_a_volume_to_a_claim,
    tells_a_claim_its_node,
    gives_devices_to_a_pod,
    tells_a_group_whether_its_pods_have_places,
    binds_a_pod_and_holds_it,
    does_not_hold_what_is_being_deleted,
    finds_the_pods_of_others,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_the_bridge_writes_what_the_server_takes(world: KubeWorld, scenario: Scenario) -> None:
    async def run() -> None:
        async with world.connected(NS) as client:
            await scenario(client)

    asyncio.run(run())
