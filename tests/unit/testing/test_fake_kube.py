"""What the fake API server does beyond a real one without controllers, and for tests alone."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.kube import kinds, requests
from windlass.kube.errors import KubeError, NotFound, Unreachable
from windlass.kube.json_patch import difference
from windlass.kube.kinds import Kind
from windlass.kube.meta import PartialObject
from windlass.kube.objects import ConfigMap, Pod
from windlass.kube.reflector import Mirror
from windlass.kube.requests import Deletion, Propagation, Request, Selection
from windlass.kube.watch import Watched
from windlass.kube.wire import Anything, Bookmark, Document
from windlass.testing import virtual
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_patches import operated
from windlass.values.key import Key

NS = "default"
START = datetime(2026, 1, 1, tzinfo=UTC)
Json = dict[str, Any]
Scenario = Callable[[FakeKube], Awaitable[None]]


def now() -> datetime:
    return START + timedelta(seconds=virtual.clock())


def run(scenario: Scenario, *installed: Kind) -> None:
    async def begin() -> None:
        await scenario(FakeKube(now, installed))

    virtual.run(begin())


async def create(kube: FakeKube, kind: Kind, name: str, *owners: Json, **fields: Any) -> Json:
    """An object that its owners wait for."""
    references = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        for owner in owners
    ]
    body = {"metadata": {"name": name, "ownerReferences": references}, **fields}
    return (await kube.send(requests.create(kind, NS, body, Document))).body


async def bound(kube: FakeKube, name: str, *owners: Json) -> None:
    await create(kube, kinds.POD, name, *owners, spec={"containers": [{"name": "a", "image": "a"}]})
    await kube.send(requests.bind(Key(NS, name), "", "n1"))


async def names(kube: FakeKube, kind: Kind) -> list[str]:
    page = await kube.send(requests.list_page(kind, PartialObject, Selection(NS)))
    return [item.metadata.name for item in page.items or ()]


async def delete(kube: FakeKube, name: str, how: Propagation = "Background") -> None:
    call = requests.delete(kinds.CONFIG_MAP, Key(NS, name), Deletion(propagation=how))
    await kube.send(call)


# --- what is owned goes with its owners ----------------------------------------------------


def test_what_is_owned_goes_with_the_last_of_its_owners() -> None:
    async def scenario(kube: FakeKube) -> None:
        one = await create(kube, kinds.CONFIG_MAP, "one")
        two = await create(kube, kinds.CONFIG_MAP, "two")
        both = await create(kube, kinds.SECRET, "of-both", one, two)
        await create(kube, kinds.SECRET, "of-one", one)
        await create(kube, kinds.LEASE, "grandchild", both)
        await delete(kube, "one")
        assert await names(kube, kinds.SECRET) == ["of-both"]
        left = await kube.send(requests.get_metadata(kinds.SECRET, Key(NS, "of-both")))
        assert [owner.name for owner in left.metadata.owner_references or ()] == ["two"]
        await delete(kube, "two")
        assert await names(kube, kinds.SECRET) == []
        assert await names(kube, kinds.LEASE) == []

    run(scenario)


def test_what_is_orphaned_stays() -> None:
    async def scenario(kube: FakeKube) -> None:
        owner = await create(kube, kinds.CONFIG_MAP, "owner")
        await create(kube, kinds.SECRET, "orphan", owner)
        await delete(kube, "owner", "Orphan")
        left = await kube.send(requests.get_metadata(kinds.SECRET, Key(NS, "orphan")))
        assert not left.metadata.owner_references

    run(scenario)


def test_in_the_foreground_an_owner_waits_for_what_it_owns() -> None:
    async def scenario(kube: FakeKube) -> None:
        owner = await create(kube, kinds.CONFIG_MAP, "owner")
        await bound(kube, "slow", owner)
        await create(kube, kinds.SECRET, "quick", owner)
        await delete(kube, "owner", "Foreground")
        assert await names(kube, kinds.SECRET) == []
        assert await names(kube, kinds.CONFIG_MAP) == ["owner"]
        await asyncio.sleep(31)
        kube.tick()
        assert await names(kube, kinds.POD) == []
        assert await names(kube, kinds.CONFIG_MAP) == []

    run(scenario)


# --- time ----------------------------------------------------------------------------------


def test_a_pod_goes_when_its_grace_is_over() -> None:
    async def scenario(kube: FakeKube) -> None:
        await bound(kube, "pod")
        await kube.send(requests.delete(kinds.POD, Key(NS, "pod"), Deletion(grace_seconds=5)))
        kube.tick()
        pod = await kube.send(requests.get(kinds.POD, Key(NS, "pod"), Pod))
        assert pod.metadata.deletion_timestamp == START + timedelta(seconds=5)
        await asyncio.sleep(5)
        kube.tick()
        assert await names(kube, kinds.POD) == []

    run(scenario)


def test_a_namespace_is_emptied_before_it_goes() -> None:
    async def scenario(kube: FakeKube) -> None:
        space = requests.create(kinds.NAMESPACE, "", {"metadata": {"name": "short"}}, Anything)
        await kube.send(space)
        held = {"metadata": {"name": "held", "finalizers": ["a.b/c"]}}
        await kube.send(requests.create(kinds.CONFIG_MAP, "short", held, Anything))
        await kube.send(requests.delete(kinds.NAMESPACE, Key("", "short")))
        kube.tick()
        await kube.send(requests.get(kinds.NAMESPACE, Key("", "short"), Anything))
        free = {"metadata": {"finalizers": None}}
        key = Key("short", "held")
        await kube.send(requests.merge_patch(kinds.CONFIG_MAP, key, free, Anything))
        kube.tick()
        with pytest.raises(NotFound):
            await kube.send(requests.get(kinds.NAMESPACE, Key("", "short"), Anything))

    run(scenario)


def test_a_quiet_watch_is_given_a_bookmark_every_minute() -> None:
    async def scenario(kube: FakeKube) -> None:
        page = await kube.send(requests.list_page(kinds.POD, Pod))
        version = page.metadata.resource_version
        watch = requests.watch(kinds.POD, Pod, Selection(), version, 150)
        async with aclosing(kube.stream(watch)) as events:
            heard = [(virtual.clock(), type(event)) async for event in events]
        assert heard == [(60, Bookmark), (120, Bookmark), (150, Bookmark)]

    run(scenario)


# --- faults --------------------------------------------------------------------------------


def test_a_fault_is_raised_instead_of_an_answer() -> None:
    async def scenario(kube: FakeKube) -> None:
        def on_posts(request: Request[Any]) -> KubeError | None:
            return Unreachable("cut") if request.method == "POST" else None

        kube.before = on_posts
        with pytest.raises(Unreachable):
            await create(kube, kinds.CONFIG_MAP, "never")
        assert await names(kube, kinds.CONFIG_MAP) == []
        assert [request.method for request in kube.asked] == ["POST", "GET"]

    run(scenario)


def test_a_mirror_survives_cuts_and_compactions() -> None:
    maps = Watched(kinds.CONFIG_MAP, ConfigMap, Selection(NS))
    born: list[str] = []

    async def scenario(kube: FakeKube) -> None:
        mirror = Mirror(kube, [maps], chance=lambda: 0.0)
        mirror.store(maps).subscribe(
            lambda old, new: born.append(new.metadata.name) if new and not old else None
        )
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(mirror.run())
            await mirror.synced()
            for number in range(4):
                kube.cut()
                await create(kube, kinds.CONFIG_MAP, f"m-{number}")
                if number % 2:
                    kube.compact()
                await asyncio.sleep(60)
            task.cancel()

    run(scenario)
    assert born == ["m-0", "m-1", "m-2", "m-3"]


# --- custom kinds --------------------------------------------------------------------------


def test_an_installed_kind_is_served_with_status_and_scale() -> None:
    async def scenario(kube: FakeKube) -> None:
        await create(kube, kinds.NODE_SET, "workers", spec={"replicas": 1})
        key = Key(NS, "workers")
        assert (await kube.send(requests.set_scale(kinds.NODE_SET, key, 4))).spec.replicas == 4
        status = {"status": {"replicas": 4}}
        call = requests.merge_patch(kinds.NODE_SET, key, status, PartialObject, "status")
        assert (await kube.send(call)).metadata.generation == 2

    run(scenario, kinds.NODE_SET)


def test_a_defined_kind_comes_and_goes_with_its_definition() -> None:
    version = {"name": "v1alpha2", "served": True, "storage": True}
    spec = {
        "group": "jobset.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "JobSet", "plural": "jobsets"},
        "versions": [version],
    }
    definition = {"metadata": {"name": "jobsets.jobset.x-k8s.io"}, "spec": spec}
    kind = kinds.CUSTOM_RESOURCE_DEFINITION

    async def scenario(kube: FakeKube) -> None:
        for _ in range(2):
            with pytest.raises(NotFound):
                await names(kube, kinds.JOB_SET)
            await kube.send(requests.create(kind, "", definition, Anything))
            assert await names(kube, kinds.JOB_SET) == []
            await create(kube, kinds.JOB_SET, "job")
            assert await names(kube, kinds.JOB_SET) == ["job"]
            await kube.send(requests.delete(kind, Key("", "jobsets.jobset.x-k8s.io")))

    run(scenario)


# --- patches -------------------------------------------------------------------------------

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(documents, documents)
def test_a_difference_makes_one_document_the_other(old: Any, new: Any) -> None:
    assert operated(old, difference(old, new)) == new
