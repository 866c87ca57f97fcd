"""The operator as a process, with all its rooms, on an API server and a Slurm in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

from windlass.kube import kinds, requests
from windlass.kube.client import Client
from windlass.kube.kinds import Kind
from windlass.kube.manager import Settings
from windlass.kube.metrics import Metrics
from windlass.kube.requests import Request
from windlass.kube.wire import Document
from windlass.mains.clock import SystemClock
from windlass.mains.kubernetes import boot_time, now
from windlass.operator.process import Means, Options, operator
from windlass.operator.rooms import rooms
from windlass.operator.site import Site
from windlass.operator.slurms.clusters import Clusters
from windlass.operator.slurms.place import Place
from windlass.operator.world import RESOURCES
from windlass.slurm.transport import Transport
from windlass.slurm.wire import WireNode
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.values.key import Key


class Unguarded(FakeKube):
    """It stands where a Client stands, which also asks whether it may write."""

    async def send(self, request: Request[Any], check: Any = None) -> Any:
        return await super().send(request)


async def _create(kube: FakeKube, kind: Kind, name: str, **fields: Any) -> None:
    body = {"metadata": {"name": name, "namespace": "default"}, **fields}
    await kube.send(requests.create(kind, "default", body, Document))


async def _live(kube: FakeKube, kind: Kind, name: str) -> dict[str, Any]:
    return (await kube.send(requests.get(kind, Key("default", name), Document))).body


async def _drained_and_seen(kube: FakeKube, slurm: FakeSlurm) -> None:
    """Slurm's drain is on the pod, and in the counts of the set."""
    cluster = {"controllerRef": {"name": "slurm"}}
    await _create(kube, kinds.CONTROLLER, "slurm", spec={})
    await _create(kube, kinds.REST_API, "rest", spec=cluster)
    await _create(kube, kinds.NODE_SET, "w", spec={**cluster, "replicas": 1})
    pods = requests.list_page(kinds.POD, Document)
    while not [each for each in (await kube.send(pods)).items or () if each.metadata.name == "w-0"]:
        await asyncio.sleep(0.02)
    uid = (await _live(kube, kinds.POD, "w-0"))["metadata"]["uid"]
    await kube.send(requests.bind(Key("default", "w-0"), uid, "n1"))
    slurm.cluster.nodes["w-0"] = WireNode(
        name="w-0", state=["MIXED", "DRAIN"], reason="disk", cpus=4
    )
    slurm.cluster.touch("nodes")
    while (await _live(kube, kinds.NODE_SET, "w")).get("status", {}).get("slurmDrain") != 1:
        await asyncio.sleep(0.02)
    body = await _live(kube, kinds.POD, "w-0")
    shown = {each["type"]: each.get("message") for each in body["status"]["conditions"]}
    assert shown["SlurmNodeStateMixed"] == shown["SlurmNodeStateDrain"] == "disk"
    assert body["metadata"]["labels"]["nodeset.slinky.slurm.net/pod-protect"] == "true"


async def _story() -> None:
    clock = SystemClock()
    slurm = FakeSlurm(FakeCluster(now=clock.now))
    kube = Unguarded(now, RESOURCES)

    def dial(_: Place) -> AbstractAsyncContextManager[Transport]:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Transport]:
            yield slurm

        return opened()

    clusters = Clusters(clock, dial)
    means = Means(cast(Client, kube), Metrics(), boot_time, now)
    lease = Key("default", "windlass-operator")
    options = Options(identity="me", lease=lease, settings=Settings(host="127.0.0.1", port=0))
    async with rooms(Site(), clusters.seen) as known, asyncio.TaskGroup() as tasks:
        manager = operator(means, known, clusters, options)
        running = tasks.create_task(manager.run())
        try:
            async with asyncio.timeout(20):
                await _drained_and_seen(kube, slurm)
        finally:
            manager.request_stop()
            await asyncio.wait([running])


def test_what_slurm_says_is_seen_in_kubernetes() -> None:
    asyncio.run(_story())
