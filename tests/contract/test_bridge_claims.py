"""Claims that the bridge writes, with Kubernetes' own controllers of them at work."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.contract.kube_access import as_admin, make_namespace
from tests.contract.test_bridge_writes import LATE, NS, SPEC
from tests.unit.bridge.test_dra import THERE, container
from tests.unit.bridge.test_slices import GPU
from windlass.bridge.claim_writer import ClaimWriter
from windlass.bridge.claims import Claims
from windlass.bridge.device_writer import DeviceWriter
from windlass.bridge.devices import DEFAULT
from windlass.bridge.dra import DeviceClaim, claim
from windlass.bridge.plan import PlaceClaim, Target
from windlass.bridge.sharing import Device, Share
from windlass.bridge.volumes import Mount
from windlass.kube import kinds, requests
from windlass.kube.client import Client
from windlass.kube.errors import NotFound
from windlass.kube.kinds import Kind
from windlass.kube.objects import Pod
from windlass.kube.wire import Document
from windlass.local import control_plane
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.mains import windlass
from windlass.testing import kube as real_kube
from windlass.testing.kube import DIES_WITH_US, RealKube
from windlass.testing.ports import free_ports
from windlass.values.key import Key

WITHIN = 60
CONTROLLERS = "persistentvolume-binder-controller,resourceclaim-controller"


@pytest.fixture(scope="module")
def server(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RealKube]:
    folder = tmp_path_factory.mktemp("bound")
    explaining_logs.append(folder / "logs")
    made = real_kube.start(folder, folders.cache, display, windlass.now())
    masters = made.masters
    argv = control_plane.kube_controller_manager(masters.place, masters.addresses)
    (port,) = free_ports(1)
    program = str(masters.programs["kube-controller-manager"])
    more = (f"--controllers={CONTROLLERS}", f"--secure-port={port}")
    with (folder / "logs" / "controllers.log").open("wb") as log:
        running = subprocess.Popen([*DIES_WITH_US, program, *argv[1:], *more], stderr=log)
        yield made
        running.kill()
        running.wait()
    made.stop()


class Stage:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def create(self, kind: Kind, name: str, **body: Any) -> Document:
        namespace = NS if kind.namespaced else ""
        whole = {"metadata": {"name": name, "namespace": namespace}, **body}
        return await self.client.send(requests.create(kind, namespace, whole, Document))

    async def pod(self, name: str, **spec: Any) -> Pod:
        body = {"metadata": {"name": name, "namespace": NS}, "spec": spec}
        return await self.client.send(requests.create(kinds.POD, NS, body, Pod))

    async def until(self, true: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        async with asyncio.timeout(WITHIN):
            while not await true():
                await asyncio.sleep(0.1)


@asynccontextmanager
async def staged(server: RealKube) -> AsyncIterator[Stage]:
    async with Client(as_admin(server)) as client:
        await make_namespace(client, NS)
        yield Stage(client)


async def _mount(stage: Stage, pod: Pod) -> Mount:
    storage = await Claims(stage.client, windlass.now).storage([pod])
    assert storage.waits is None
    return storage.mounts[pod.metadata.key][0]


def test_a_local_volume_is_bound_to_the_claim_that_was_given_it(server: RealKube) -> None:
    async def story() -> None:
        async with staged(server) as stage:
            await stage.create(kinds.STORAGE_CLASS, "bridge-local", **LATE)
            for name in ("n1", "n2"):
                await stage.create(kinds.PERSISTENT_VOLUME, f"on-{name}", spec=_volume(name))
            made = await stage.create(kinds.PERSISTENT_VOLUME_CLAIM, "data", spec=SPEC)
            uses = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
            pod = await stage.pod("p", containers=[{"name": "c", "image": "x"}], volumes=uses)

            async def available() -> bool:
                storage = await Claims(stage.client, windlass.now).storage([pod])
                every = storage.mounts.get(pod.metadata.key, ())
                return bool(every) and len(every[0].candidates) == 2

            await stage.until(available)
            mount = await _mount(stage, pod)
            second = mount.candidates[1]
            assert second.name == "on-n2"
            action = PlaceClaim(mount.claim, made.metadata.uid, "n2", second.name, second.version)
            await ClaimWriter(stage.client).place(action)

            async def bound() -> bool:
                return (await _mount(stage, pod)).bound

            await stage.until(bound)
            found = await _mount(stage, pod)
            assert found.terms == (_term("n2"),)

    asyncio.run(story())


def _term(name: str) -> dict[str, Any]:
    asked = {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}
    return {"matchExpressions": [asked]}


def _volume(name: str) -> dict[str, Any]:
    return {
        "storageClassName": "bridge-local",
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "local": {"path": "/x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [_term(name)]}},
    }


def test_a_claim_of_devices_stays_while_its_pod_runs_and_goes_with_it(server: RealKube) -> None:
    async def story() -> None:
        async with staged(server) as stage:
            pod = await stage.pod("devices", containers=[container(gpu="1")])
            devices = claim(pod, Share(devices=(Device("gpu", GPU, 0b10),)), THERE, DEFAULT)
            assert isinstance(devices, DeviceClaim)
            target = Target(pod.metadata.key, pod.metadata.uid)
            await DeviceWriter(stage.client, windlass.now).give(target, devices, "n1")
            await stage.client.send(requests.bind(pod.metadata.key, pod.metadata.uid, "n1"))
            at = Key(NS, devices.name)
            found = await stage.client.send(requests.get(kinds.RESOURCE_CLAIM, at, Document))
            assert found.body["status"]["reservedFor"][0]["name"] == "devices"
            ended = {"status": {"phase": "Succeeded"}}
            await stage.client.send(
                requests.merge_patch(kinds.POD, pod.metadata.key, ended, Document, "status")
            )

            async def released() -> bool:
                try:
                    seen = await stage.client.send(requests.get(kinds.RESOURCE_CLAIM, at, Document))
                except NotFound:
                    return True
                return not (seen.body.get("status") or {}).get("reservedFor")

            await stage.until(released)

    asyncio.run(story())
