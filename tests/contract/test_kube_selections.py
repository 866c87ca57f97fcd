"""Which objects lists and watches show, alike on the fake API server and on the real one."""

import pytest

from tests.contract.kube_steps import (
    CONTAINERS,
    NS,
    Scenario,
    create,
    heard,
    names,
    patch,
    refused,
    run,
)
from tests.contract.kube_world import KubeWorld
from windlass.kube import kinds, requests
from windlass.kube.objects import ConfigMap
from windlass.kube.reflector import Talks
from windlass.kube.requests import Paging, Selection
from windlass.kube.wire import Added, Anything, Deleted, Modified
from windlass.values.key import Key


async def labels_are_selected(client: Talks) -> None:
    for name, labels in (("l-x", {"k": "x"}), ("l-y", {"k": "y", "m": ""}), ("l-none", {})):
        body = {"metadata": {"name": name, "labels": {"labelled": "yes", **labels}}}
        await create(client, kinds.CONFIG_MAP, body)
    for selector, found in (
        ("k=x", ["l-x"]),
        ("k==x", ["l-x"]),
        ("k!=x", ["l-none", "l-y"]),
        ("k in (x, y)", ["l-x", "l-y"]),
        ("k notin (x,z)", ["l-none", "l-y"]),
        ("k,m", ["l-y"]),
        ("!k", ["l-none"]),
        ("k,!m", ["l-x"]),
        ("m=", ["l-y"]),
    ):
        of = Selection(NS, labels=f"labelled=yes,{selector}")
        assert await names(client, kinds.CONFIG_MAP, of) == found, selector
    bad = requests.list_page(kinds.CONFIG_MAP, Anything, Selection(NS, labels="a b"))
    assert (await refused(client, bad)).status.code == 400


async def fields_are_selected(client: Talks) -> None:
    for name in ("f-free", "f-bound"):
        body = {"metadata": {"name": name, "labels": {"fields": "yes"}}}
        await create(client, kinds.POD, {**body, "spec": {"containers": CONTAINERS}})
    await client.send(requests.bind(Key(NS, "f-bound"), "", "n7"))
    for selector, found in (
        ("spec.nodeName=n7", ["f-bound"]),
        ("spec.nodeName!=n7", ["f-free"]),
        ("spec.nodeName=", ["f-free"]),
        ("status.phase=Pending,metadata.name!=f-free", ["f-bound"]),
        ("status.phase=Running", []),
        (f"metadata.namespace={NS},metadata.name=f-free", ["f-free"]),
        ("spec.hostNetwork=false,spec.nodeName=n7", ["f-bound"]),
    ):
        of = Selection(NS, "fields=yes", selector)
        assert await names(client, kinds.POD, of) == found, selector
    bad = requests.list_page(kinds.POD, Anything, Selection(NS, fields="spec.subdomain=a"))
    assert (await refused(client, bad)).status.code == 400


async def what_leaves_a_selection_is_deleted_from_it(client: Talks) -> None:
    body = {"metadata": {"name": "moves", "labels": {"moves": "in"}}, "data": {"a": "1"}}
    made = await create(client, kinds.CONFIG_MAP, body)
    for place in ("in", "out", "in"):
        labels = {"metadata": {"labels": {"moves": place}}, "data": {"place": place}}
        last = await patch(client, kinds.CONFIG_MAP, "moves", labels)
    ours = Selection(NS, labels="moves=in", metadata_only=True)
    seen = await heard(client, kinds.CONFIG_MAP, ours, made["metadata"]["resourceVersion"], 3)
    assert [type(event) for event in seen] == [Modified, Deleted, Added]
    assert seen[1].object.metadata.labels == {"moves": "in"}  # as it was when it left
    assert seen[2].object.metadata.resource_version == last["metadata"]["resourceVersion"]
    assert all("data" not in event.object.body for event in seen)
    versions = [int(event.object.metadata.resource_version) for event in seen]
    assert versions == sorted(versions)


async def a_list_is_of_one_moment(client: Talks) -> None:
    for number in range(3):
        body = {"metadata": {"name": f"moment-{number}", "labels": {"moment": "yes"}}}
        await create(client, kinds.CONFIG_MAP, body)
    ours = Selection(NS, labels="moment=yes")
    kind = kinds.CONFIG_MAP
    first = await client.send(requests.list_page(kind, ConfigMap, ours, Paging(1)))
    await client.send(requests.delete(kind, Key(NS, "moment-1")))
    body = {"metadata": {"name": "moment-9", "labels": {"moment": "yes"}}}
    await create(client, kind, body)
    rest = Paging(5, first.metadata.continue_)
    page = await client.send(requests.list_page(kind, ConfigMap, ours, rest))
    assert [item.metadata.name for item in page.items or ()] == ["moment-1", "moment-2"]
    exact = Paging(version=first.metadata.resource_version, match="Exact")
    page = await client.send(requests.list_page(kind, ConfigMap, ours, exact))
    assert len(page.items or ()) == 3


SCENARIOS: list[Scenario] = [
    labels_are_selected,
    fields_are_selected,
    what_leaves_a_selection_is_deleted_from_it,
    a_list_is_of_one_moment,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_api_server(world: KubeWorld, scenario: Scenario) -> None:
    run(world, scenario)
