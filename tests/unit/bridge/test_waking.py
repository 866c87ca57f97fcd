"""Who has to look when something changes, and who has not."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from typing import Any

import msgspec
import pytest

from windlass.bridge import words
from windlass.bridge.gang import GangKey
from windlass.bridge.link import Link
from windlass.bridge.observe import Means, Observer, Rules
from windlass.bridge.submission import Settings
from windlass.bridge.waking import wire
from windlass.bridge.world import World, watches
from windlass.kube.objects import Node, Pod
from windlass.kube.queue import Queue
from windlass.kube.reflector import Mirror
from windlass.slurm.tokens import StaticToken
from windlass.testing.fake_kube import FakeKube
from windlass.testing.virtual import VirtualClock, clock, run

VERSION = count(1)
READY = {"conditions": [{"type": "Ready", "status": "True"}]}
SILENT = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
BEATING = {"conditions": [{**READY["conditions"][0], "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}


def _node(**given: Any) -> Node:
    meta = {"name": "n1", "resourceVersion": str(next(VERSION)), "labels": given.get("labels")}
    body = {"metadata": meta, "spec": given.get("spec", {}), "status": given.get("status", READY)}
    return msgspec.convert(body, Node)


def _pod(name: str, node: str = "", **given: Any) -> Pod:
    meta = {"name": name, "namespace": "team", "uid": name, "resourceVersion": str(next(VERSION))}
    status = {"phase": given.pop("phase", "Pending")}
    body = {"metadata": {**meta, **given}, "spec": {"nodeName": node}, "status": status}
    return msgspec.convert(body, Pod)


def _observer(world: World, link: Link) -> Observer:
    rules = Rules(settings=Settings(cluster="blue"))
    now = datetime(2026, 7, 1, tzinfo=UTC)
    return Observer(world, link, rules, Means(FakeKube(lambda: now), lambda: now))


def _wired(nodes: Callable[[], None] = lambda: None) -> tuple[World, Queue[GangKey]]:
    kube = FakeKube(lambda: datetime(2026, 7, 1, tzinfo=UTC))
    watched = watches(words.SCHEDULER)
    world = World(Mirror(kube, watched), watched)
    link = Link("blue", StaticToken(""), VirtualClock(), lambda: None)  # type: ignore[arg-type, return-value]
    queue = Queue[GangKey](clock)
    wire(world, link, queue, _observer(world, link), nodes)
    return world, queue


@pytest.mark.parametrize(
    ("change", "woken", "nodes"),
    [
        ({"status": BEATING}, set(), 0),
        ({"labels": {"zone": "a"}}, {"waits"}, 1),
        ({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}}, {"waits"}, 1),
        ({"spec": {"unschedulable": True}}, set(), 1),
        ({"status": SILENT}, {"runs"}, 1),
    ],
)
def test_a_change_of_a_node_wakes_those_whom_it_concerns(
    change: dict[str, Any], woken: set[str], nodes: int
) -> None:
    async def story() -> None:
        looked: list[int] = []
        world, queue = _wired(lambda: looked.append(1))
        world.nodes.put(_node())
        world.pods.put(_pod("waits"))
        world.pods.put(_pod("runs", "n1"))
        for _ in range(2):
            queue.done(await queue.take())
        looked.clear()
        world.nodes.put(_node(**change))
        found = set()
        for _ in woken:
            key = await queue.take()
            found.add(key.name)
            queue.done(key)
        assert (found, len(looked)) == (woken, nodes)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(queue.take(), 5)

    run(story())
