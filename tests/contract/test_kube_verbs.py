"""Every verb once, alike on the fake API server and on the real one."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.contract.kube_world import KubeWorld
from windlass.kube import kinds, requests
from windlass.kube.errors import Invalid, NotFound, Refused
from windlass.kube.meta import PartialObject
from windlass.kube.objects import ConfigMap, Event, Lease, Node, Pod, StatefulSet, micro_time
from windlass.kube.reflector import Talks
from windlass.kube.requests import Deletion, FieldManager, Paging, Selection
from windlass.kube.wire import Added, Anything, Deleted, Document, Modified, WatchEvent
from windlass.values.key import Key

NS = "verbs"
Scenario = Callable[[Talks], Awaitable[None]]


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": NS}, "data": data}


def pod(name: str) -> dict[str, Any]:
    containers = [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "100m"}}}]
    return {"metadata": {"name": name, "namespace": NS}, "spec": {"containers": containers}}


async def created(client: Talks, name: str, **data: str) -> ConfigMap:
    body = config_map(name, **data)
    return await client.send(requests.create(kinds.CONFIG_MAP, NS, body, ConfigMap))


async def keeps_what_it_is_given(client: Talks) -> None:
    made = await created(client, "kept", a="1")
    key = Key(NS, "kept")
    assert await client.send(requests.get(kinds.CONFIG_MAP, key, ConfigMap)) == made
    assert made.metadata.uid
    assert made.metadata.creation_timestamp is not None


async def gives_metadata_alone(client: Talks) -> None:
    made = await created(client, "slim", a="1")
    key = Key(NS, "slim")
    assert (await client.send(requests.get_metadata(kinds.CONFIG_MAP, key))) == PartialObject(
        metadata=made.metadata
    )
    slim = Selection(NS, metadata_only=True)
    page = await client.send(requests.list_page(kinds.CONFIG_MAP, Document, slim))
    assert page.items
    assert all("data" not in item.body for item in page.items)


async def replaces_a_whole_object(client: Talks) -> None:
    made = await created(client, "replaced", a="1")
    body = {**config_map("replaced", b="2")}
    body["metadata"]["resourceVersion"] = made.metadata.resource_version
    key = Key(NS, "replaced")
    now = await client.send(requests.replace(kinds.CONFIG_MAP, key, body, ConfigMap))
    assert now.data == {"b": "2"}


async def applies_fields_for_a_manager(client: Talks) -> None:
    manager = FieldManager("windlass-test")
    for data in ({"a": "1", "b": "2"}, {"a": "3"}):
        body = config_map("applied", **data)
        now = await client.send(requests.apply(kinds.CONFIG_MAP, body, manager, ConfigMap))
        assert now.data == data


async def patches_by_merge_and_by_operations(client: Talks) -> None:
    await created(client, "patched", a="1", b="2")
    key = Key(NS, "patched")
    merge = requests.merge_patch(kinds.CONFIG_MAP, key, {"data": {"a": None, "c": "3"}}, ConfigMap)
    assert (await client.send(merge)).data == {"b": "2", "c": "3"}
    operation = {"op": "replace", "path": "/data/b", "value": "4"}
    operations = requests.json_patch(kinds.CONFIG_MAP, key, [operation], ConfigMap)
    assert (await client.send(operations)).data == {"b": "4", "c": "3"}


async def writes_status_beside_the_spec(client: Talks) -> None:
    node = {"metadata": {"name": "status-node"}}
    await client.send(requests.create(kinds.NODE, "", node, Node))
    conditions = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    key = Key("", "status-node")
    now = await client.send(requests.merge_patch(kinds.NODE, key, conditions, Node, "status"))
    assert now.status.conditions is not None
    assert now.status.conditions[0].type == "Ready"


async def scales(client: Talks) -> None:
    labels = {"app": "scaled"}
    template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    body = {"metadata": {"name": "scaled"}, "spec": {**spec, "serviceName": "scaled"}}
    await client.send(requests.create(kinds.STATEFUL_SET, NS, body, StatefulSet))
    key = Key(NS, "scaled")
    assert (await client.send(requests.set_scale(kinds.STATEFUL_SET, key, 5))).spec.replicas == 5
    assert (await client.send(requests.get_scale(kinds.STATEFUL_SET, key))).spec.replicas == 5


async def lists_page_by_page_and_by_selectors(client: Talks) -> None:
    for number in range(5):
        body = config_map(f"page-{number}")
        body["metadata"]["labels"] = {"pages": "yes"}
        await client.send(requests.create(kinds.CONFIG_MAP, NS, body, Anything))
    ours = Selection(NS, labels="pages=yes")
    token, names, pages = "", [], 0
    while pages == 0 or token:
        paging = Paging(2, token)
        page = await client.send(requests.list_page(kinds.CONFIG_MAP, ConfigMap, ours, paging))
        names += [item.metadata.name for item in page.items or ()]
        token, pages = page.metadata.continue_, pages + 1
    assert (pages, names) == (3, [f"page-{number}" for number in range(5)])
    one = Selection(NS, fields="metadata.name=page-3")
    paging = Paging(version="0", match="NotOlderThan")
    page = await client.send(requests.list_page(kinds.CONFIG_MAP, ConfigMap, one, paging))
    assert [item.metadata.name for item in page.items or ()] == ["page-3"]


async def watches_from_a_version(client: Talks) -> None:
    made = await created(client, "watched", a="1")
    key, version = Key(NS, "watched"), made.metadata.resource_version
    one = Selection(NS, fields="metadata.name=watched")
    await client.send(requests.merge_patch(kinds.CONFIG_MAP, key, {"data": {"a": "2"}}, Anything))
    await client.send(requests.delete(kinds.CONFIG_MAP, key))
    await created(client, "watched", a="3")
    watch = requests.watch(kinds.CONFIG_MAP, ConfigMap, one, version, 30)
    seen: list[WatchEvent[ConfigMap]] = []
    async with aclosing(client.stream(watch)) as events:
        async for event in events:
            seen.append(event)
            if len(seen) == 3:
                break
    assert [type(event) for event in seen] == [Modified, Deleted, Added]


async def ends_a_watch_when_it_was_told(client: Talks) -> None:
    watch = requests.watch(kinds.CONFIG_MAP, ConfigMap, Selection(NS), "", 1)
    async with aclosing(client.stream(watch)) as events:
        assert [event async for event in events]


async def deletes_only_what_was_meant(client: Talks) -> None:
    made = await created(client, "deleted")
    key = Key(NS, "deleted")
    with pytest.raises(Refused):
        await client.send(requests.delete(kinds.CONFIG_MAP, key, Deletion(uid="another")))
    how = Deletion(made.metadata.uid, made.metadata.resource_version, "Foreground")
    await client.send(requests.delete(kinds.CONFIG_MAP, key, how))


async def deletes_many_at_once(client: Talks) -> None:
    body = config_map("one-of-many")
    body["metadata"]["labels"] = {"many": "yes"}
    await client.send(requests.create(kinds.CONFIG_MAP, NS, body, Anything))
    many = Selection(NS, labels="many=yes")
    await client.send(requests.delete_collection(kinds.CONFIG_MAP, many))
    assert not (await client.send(requests.list_page(kinds.CONFIG_MAP, ConfigMap, many))).items


async def binds_and_evicts_pods(client: Talks) -> None:
    made = await client.send(requests.create(kinds.POD, NS, pod("bound"), Pod))
    key = Key(NS, "bound")
    await client.send(requests.bind(key, made.metadata.uid, "n1"))
    bound = await client.send(requests.get(kinds.POD, key, Pod))
    assert bound.spec.node_name == "n1"
    await client.send(requests.evict(key, Deletion(uid=made.metadata.uid, grace_seconds=0)))
    with pytest.raises(NotFound):
        await client.send(requests.get(kinds.POD, key, Pod))


async def does_not_bind_a_namesake(client: Talks) -> None:
    await client.send(requests.create(kinds.POD, NS, pod("namesake"), Pod))
    with pytest.raises(Refused):
        await client.send(requests.bind(Key(NS, "namesake"), "of-another-pod", "n1"))


async def keeps_leases_and_events_with_micro_times(client: Talks) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    spec = {"holderIdentity": "me", "renewTime": micro_time(moment)}
    body = {"metadata": {"name": "lease"}, "spec": spec}
    lease = await client.send(requests.create(kinds.LEASE, NS, body, Lease))
    assert lease.spec.renew_time == moment
    event = {
        "metadata": {"name": "event"},
        "eventTime": micro_time(moment),
        "action": "Testing",
        "reason": "Test",
        "type": "Normal",
        "reportingController": "windlass",
        "reportingInstance": "here",
        "regarding": {"kind": "Pod", "namespace": NS, "name": "x"},
    }
    assert (await client.send(requests.create(kinds.EVENT, NS, event, Event))).reason == "Test"


async def refuses_a_micro_time_without_its_fraction(client: Talks) -> None:
    spec = {"renewTime": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)}
    body = {"metadata": {"name": "whole-second"}, "spec": spec}
    with pytest.raises(Refused) as caught:
        await client.send(requests.create(kinds.LEASE, NS, body, Lease))
    assert not isinstance(caught.value, Invalid)
    assert caught.value.status.code == 400


SCENARIOS: list[Scenario] = [
    keeps_what_it_is_given,
    gives_metadata_alone,
    replaces_a_whole_object,
    applies_fields_for_a_manager,
    patches_by_merge_and_by_operations,
    writes_status_beside_the_spec,
    scales,
    lists_page_by_page_and_by_selectors,
    watches_from_a_version,
    ends_a_watch_when_it_was_told,
    deletes_only_what_was_meant,
    deletes_many_at_once,
    binds_and_evicts_pods,
    does_not_bind_a_namesake,
    keeps_leases_and_events_with_micro_times,
    refuses_a_micro_time_without_its_fraction,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_api_server(world: KubeWorld, scenario: Scenario) -> None:
    async def run() -> None:
        async with world.connected(NS) as client:
            await scenario(client)

    asyncio.run(run())
