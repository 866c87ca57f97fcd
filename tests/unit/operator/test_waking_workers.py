"""Which NodeSets look again when a Kubernetes node or a claim changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.unit.operator.staging import Stage, staged
from tests.unit.operator.workers.test_room import ROOM, node_set
from windlass.kube import kinds, requests
from windlass.kube.kinds import Kind
from windlass.kube.queue import Queue
from windlass.kube.requests import Subresource
from windlass.kube.wire import Document
from windlass.operator.waking import wire
from windlass.values.key import Key

LABELS = {"app.kubernetes.io/name": "slurmd", "app.kubernetes.io/instance": "numbered"}


class Woken(Queue[Key]):
    def __init__(self) -> None:
        super().__init__(lambda: 0.0)
        self.names: set[str] = set()

    def add(self, key: Key, *, priority: int = 0) -> None:
        self.names.add(key.name)
        super().add(key, priority=priority)


@asynccontextmanager
async def watched() -> AsyncIterator[tuple[Stage, Woken]]:
    async with staged(ROOM) as stage:
        queue = Woken()
        wire(stage.world, {kinds.NODE_SET: queue})
        await node_set(stage, "spread", scalingMode="DaemonSet")
        await node_set(stage, "pinned", pinToNode=True)
        await node_set(stage, "numbered")
        pod = {"containers": [{"name": "slurmd", "image": "x"}], "nodeName": "n1"}
        await stage.create(kinds.POD, "numbered-0", metadata={"labels": LABELS}, spec=pod)
        for name in ("n1", "n2"):
            body = {"metadata": {"name": name}}
            await stage.kube.send(requests.create(kinds.NODE, "", body, Document))
        claim = {"accessModes": ["ReadWriteOnce"]}
        for name, labels in (("ours", LABELS), ("theirs", {})):
            kind = kinds.PERSISTENT_VOLUME_CLAIM
            await stage.create(kind, name, metadata={"labels": labels}, spec=claim)
        await stage.caught_up()
        queue.names.clear()
        yield stage, queue


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("n1", {"spec": {"unschedulable": True}}, {"spread", "pinned", "numbered"}),
        ("n2", {"metadata": {"labels": {"gpu": "yes"}}}, {"spread", "pinned"}),
        ("n2", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, {"spread", "pinned"}),
        ("n1", {"status": {"capacity": {"cpu": "8"}}}, set()),
        ("n2", None, {"spread", "pinned"}),
    ],
    ids=["cordoned", "labelled", "tainted", "a heartbeat", "gone"],
)
def test_a_host_that_changes_wakes_those_whom_it_concerns(
    name: str, fields: dict[str, Any] | None, expected: set[str]
) -> None:
    async def story() -> None:
        async with watched() as (stage, queue):
            where = Key("", name)
            if fields is None:
                await stage.kube.send(requests.delete(kinds.NODE, where))
            else:
                part: Subresource = "status" if "status" in fields else ""
                request = requests.merge_patch(kinds.NODE, where, fields, Document, part)
                await stage.kube.send(request)
            await stage.caught_up()
            assert queue.names == expected

    asyncio.run(story())


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("ours", None, {"numbered"}),
        ("theirs", None, set()),
        ("ours", {"spec": {"volumeName": "pv-7"}}, set()),
        ("ours", {"metadata": {"ownerReferences": [{"kind": "X", "uid": "u"}]}}, {"numbered"}),
    ],
    ids=["gone", "somebody else's", "only bound", "owned"],
)
def test_a_claim_that_changes_wakes_its_set(
    name: str, fields: dict[str, Any] | None, expected: set[str]
) -> None:
    kind: Kind = kinds.PERSISTENT_VOLUME_CLAIM

    async def story() -> None:
        async with watched() as (stage, queue):
            if fields is None:
                await stage.kube.send(requests.delete(kind, Key("hpc", name)))
            else:
                await stage.change(kind, name, fields)
            await stage.caught_up()
            assert queue.names == expected

    asyncio.run(story())
