"""The bridge as a process, elected, on an API server and a Slurm in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

from windlass.bridge import words
from windlass.bridge.configuration import read
from windlass.bridge.engine import Design
from windlass.bridge.link import Link
from windlass.bridge.process import Means, Options, bridge
from windlass.bridge.world import OPTIONAL
from windlass.kube import kinds, requests
from windlass.kube.client import Client
from windlass.kube.manager import Settings
from windlass.kube.metrics import Metrics
from windlass.kube.requests import Request
from windlass.kube.wire import Document
from windlass.mains.clock import SystemClock
from windlass.mains.kubernetes import boot_time, now
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Transport
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.values.key import Key

CONFIG = read("partition: all\nmcsLabel: ''\n")


class Unguarded(FakeKube):
    """It stands where a Client stands, which also asks whether it may write."""

    async def send(self, request: Request[Any], check: Any = None) -> Any:
        return await super().send(request)


async def _bound(kube: FakeKube, slurm: FakeSlurm) -> None:
    status = {
        "allocatable": {"cpu": "4", "memory": "4Gi"},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
    }
    meta = {"name": "n1", "labels": {words.EXTERNAL_NODE: ""}}
    body = {"metadata": meta, "status": status}
    await kube.send(requests.create(kinds.NODE, "", body, Document))
    at = Key("", "n1")
    await kube.send(requests.merge_patch(kinds.NODE, at, {"status": status}, Document, "status"))
    spec = {"schedulerName": words.SCHEDULER, "containers": [{"name": "c", "image": "x"}]}
    pod = {"metadata": {"name": "p", "namespace": "default"}, "spec": spec}
    await kube.send(requests.create(kinds.POD, "default", pod, Document))
    where = Key("default", "p")
    while not (found := kube.find(kinds.POD, where)) or "nodeName" not in found["spec"]:
        await asyncio.sleep(0.02)
    assert found["spec"]["nodeName"] == "n1"
    assert slurm.cluster.nodes["n1"].state == ["MIXED", "EXTERNAL"]


async def _story() -> None:
    clock = SystemClock()
    slurm = FakeSlurm(FakeCluster(now=clock.now))
    kube = Unguarded(now, OPTIONAL)

    def dial() -> AbstractAsyncContextManager[Transport]:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Transport]:
            yield slurm

        return opened()

    rules = CONFIG.rules("blue")
    link = Link(rules.settings.cluster, StaticToken("it is me"), clock, dial)
    means = Means(cast(Client, kube), Metrics(), boot_time, now)
    settings = Settings(host="127.0.0.1", port=0)
    options = Options(identity="me", lease=Key("default", "windlass-bridge"), settings=settings)
    manager = bridge(means, link, Design(rules=rules), options)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(manager.run())
        try:
            async with asyncio.timeout(20):
                await _bound(kube, slurm)
        finally:
            manager.request_stop()
            await asyncio.wait([running])


def test_a_pod_is_bound_by_the_one_that_leads() -> None:
    asyncio.run(_story())
