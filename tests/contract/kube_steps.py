"""Steps that scenarios on an API server are made of."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from tests.contract.kube_world import KubeWorld
from windlass.kube import requests
from windlass.kube.errors import (
    Invalid,
    KubeError,
    Refused,
)
from windlass.kube.kinds import Kind
from windlass.kube.meta import PartialObject
from windlass.kube.reflector import Talks
from windlass.kube.requests import Selection
from windlass.kube.wire import Document
from windlass.values.key import Key

Json = dict[str, Any]
Scenario = Callable[[Talks], Awaitable[None]]

NS = "semantics"
CONTAINERS = [{"name": "a", "image": "a"}]
LABELS = {"app": "a"}
OF_PODS = {
    "selector": {"matchLabels": LABELS},
    "template": {"metadata": {"labels": LABELS}, "spec": {"containers": CONTAINERS}},
}


def named(name: str, **fields: Any) -> Json:
    return {"metadata": {"name": name}, **fields}


async def create(client: Talks, kind: Kind, body: Json) -> Json:
    namespace = NS if kind.namespaced else ""
    return (await client.send(requests.create(kind, namespace, body, Document))).body


async def patch(client: Talks, kind: Kind, name: str, changes: Json) -> Json:
    key = Key(NS if kind.namespaced else "", name)
    return (await client.send(requests.merge_patch(kind, key, changes, Document))).body


async def names(client: Talks, kind: Kind, of: Selection) -> list[str]:
    page = await client.send(requests.list_page(kind, PartialObject, of))
    return [item.metadata.name for item in page.items or ()]


async def refused(client: Talks, *calls: requests.Request[Any]) -> Refused:
    """The refusal of the last of these calls."""
    for call in calls[:-1]:
        await client.send(call)
    with pytest.raises(Refused) as caught:
        await client.send(calls[-1])
    return caught.value


def fields_of(error: KubeError) -> set[str]:
    assert isinstance(error, Invalid)
    return {cause.field for cause in error.causes}


async def heard(client: Talks, kind: Kind, of: Selection, version: str, many: int) -> list[Any]:
    seen: list[Any] = []
    watch = requests.watch(kind, Document, of, version, 10)
    async with aclosing(client.stream(watch)) as events:
        async for event in events:
            seen.append(event)
            if len(seen) == many:
                break
    return seen


def run(world: KubeWorld, scenario: Scenario) -> None:
    async def connected() -> None:
        async with world.connected(NS) as client:
            await scenario(client)

    asyncio.run(connected())
