"""Pods as a watch shows them, counted as they change."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from windlass.kube import kinds
from windlass.kube.client import Client
from windlass.kube.objects import Pod
from windlass.kube.reflector import Mirror
from windlass.kube.requests import Selection
from windlass.kube.store import Store
from windlass.kube.watch import Watched
from windlass.kube.wire import Document

OFTEN: Final = 0.005


class Late(Exception):
    """Not so within the time that it was given."""


async def until(true: Callable[[], bool], what: str, within: float) -> float:
    """When it was so, by the clock of the machine."""
    deadline = time.monotonic() + within
    while not true():
        if time.monotonic() > deadline:
            raise Late(f"{what}: not so after {within:g} s")
        await asyncio.sleep(OFTEN)
    return time.monotonic()


@dataclass(slots=True)
class Pods:
    """The names of those with a condition, by condition; those of all under an empty one."""

    by: dict[str, set[str]] = field(default_factory=lambda: {"": set()})
    node: dict[str, str] = field(default_factory=dict)

    def hear(self, old: Pod | None, new: Pod | None) -> None:
        item = new or old
        assert item is not None
        name, now = item.metadata.name, _conditions(new)
        for condition in _conditions(old) - now:
            self.by[condition].discard(name)
        for condition in now:
            self.by.setdefault(condition, set()).add(name)
        self.node[name] = item.spec.node_name

    def number(self, condition: str = "") -> int:
        return len(self.by.get(condition, ()))

    def has(self, name: str, condition: str) -> bool:
        return name in self.by.get(condition, ())


def _conditions(pod: Pod | None) -> set[str]:
    if pod is None:
        return set()
    return {"", *(each.type for each in pod.status.conditions or () if each.status == "True")}


@dataclass(frozen=True, slots=True)
class Namespace:
    pods: Pods
    node_sets: Store[Document]
    pod_store: Store[Pod]

    def status(self) -> dict[str, Any]:
        """Of its only NodeSet; empty while that is not of its newest generation."""
        found = next(iter(self.node_sets), None)
        said: dict[str, Any] = (found.body.get("status") or {}) if found else {}
        current = found and said.get("observedGeneration") == found.metadata.generation
        return said if current else {}


@asynccontextmanager
async def watching(client: Client, namespace: str) -> AsyncIterator[Namespace]:
    pods = Watched(kinds.POD, Pod, Selection(namespace))
    node_sets = Watched(kinds.NODE_SET, Document, Selection(namespace))
    mirror = Mirror(client, [pods, node_sets])
    seen = Namespace(Pods(), mirror.store(node_sets), mirror.store(pods))
    mirror.store(pods).subscribe(seen.pods.hear)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(mirror.run())
        await mirror.synced()
        yield seen
        running.cancel()
