"""A mirror of an API server; what needs rights or restarts is asked of the real one alone."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.contract.kube_access import as_admin, as_user, make_namespace
from tests.contract.kube_world import KubeWorld
from windlass.kube import kinds, requests
from windlass.kube.client import Client
from windlass.kube.errors import AlreadyExists, Forbidden, NotFound, Unreachable
from windlass.kube.meta import PartialObject
from windlass.kube.objects import ConfigMap, Pod
from windlass.kube.reflector import Mirror
from windlass.kube.requests import Selection
from windlass.kube.watch import Watched
from windlass.kube.wire import Anything, Document
from windlass.local import daemons, masters
from windlass.testing.kube import RealKube
from windlass.values.key import Key

NS = "mirrored"


async def until(condition: Callable[[], bool], within: float = 20.0) -> None:
    async with asyncio.timeout(within):
        while not condition():
            await asyncio.sleep(0.01)


def config_map(name: str, colour: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"colour": colour}}, "data": {"a": "1"}}


def colours(item: ConfigMap) -> list[str]:
    return [(item.metadata.labels or {}).get("colour", "")]


def create(name: str, colour: str) -> requests.Request[Anything]:
    return requests.create(kinds.CONFIG_MAP, NS, config_map(name, colour), Anything)


def test_several_kinds_and_views_are_kept_side_by_side(world: KubeWorld) -> None:
    maps = Watched(kinds.CONFIG_MAP, ConfigMap, Selection(NS), {"colour": colours})
    slim = Watched(kinds.CONFIG_MAP, PartialObject, Selection(NS, "colour=red", "", True))
    whole = Watched(kinds.CONFIG_MAP, Document, Selection(NS, fields="metadata.name=m-0"))
    pods = Watched(kinds.POD, Pod, Selection(NS))

    async def run() -> None:
        async with world.connected(NS) as client:
            mirror = Mirror(client, (maps, slim, whole, pods))
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(mirror.run())
                await asyncio.wait_for(mirror.synced(), 10)
                for number, colour in enumerate(("red", "red", "blue")):
                    await client.send(create(f"m-{number}", colour))
                await until(lambda: len(mirror.store(maps)) == 3 and len(mirror.store(slim)) == 2)
                assert len(mirror.store(maps).by("colour", "red")) == 2
                green = {"metadata": {"labels": {"colour": "green"}}}
                key = Key(NS, "m-0")
                await client.send(requests.merge_patch(kinds.CONFIG_MAP, key, green, Anything))
                await until(lambda: len(mirror.store(slim)) == 1)
                await until(lambda: len(mirror.store(maps).by("colour", "green")) == 1)
                await until(lambda: len(mirror.store(whole)) == 1)
                document = mirror.store(whole).get(key)
                assert document is not None
                assert document.body["data"] == {"a": "1"}
                task.cancel()
            assert len(mirror.store(pods)) == 0

    asyncio.run(run())


def test_a_kind_that_is_installed_later_and_a_right_that_is_given_later_are_waited_for(
    kube: RealKube,
) -> None:
    sets = Watched(kinds.JOB_SET, PartialObject)
    maps = Watched(kinds.CONFIG_MAP, ConfigMap, Selection(NS))
    definition = {
        "metadata": {"name": "jobsets.jobset.x-k8s.io"},
        "spec": {
            "group": "jobset.x-k8s.io",
            "scope": "Namespaced",
            "names": {"kind": "JobSet", "plural": "jobsets"},
            "versions": [
                {
                    "name": "v1alpha2",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    binding = {
        "metadata": {"name": "latecomer"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "latecomer"}
        ],
    }

    async def run() -> None:
        async with (
            Client(as_admin(kube)) as admin,
            Client(as_user(kube, "latecomer")) as client,
        ):
            await make_namespace(admin, NS)
            mirror = Mirror(client, (sets, maps), chance=lambda: 0.0)
            trouble = mirror.reflectors[maps]
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(mirror.run())
                await until(lambda: isinstance(trouble.trouble, Forbidden))
                await admin.send(requests.create(kinds.CLUSTER_ROLE_BINDING, "", binding, Anything))
                await until(lambda: isinstance(mirror.reflectors[sets].trouble, NotFound))
                await admin.send(
                    requests.create(kinds.CUSTOM_RESOURCE_DEFINITION, "", definition, Anything)
                )
                await asyncio.wait_for(mirror.synced(), 30)
                task.cancel()
            definitions = Key("", "jobsets.jobset.x-k8s.io")
            await admin.send(requests.delete(kinds.CUSTOM_RESOURCE_DEFINITION, definitions))

    asyncio.run(run())


async def created(client: Client, name: str) -> None:
    """A kept connection may turn out dead only under the POST, which is not sent again for us."""
    try:
        await client.send(create(name, "restart"))
    except Unreachable:
        with suppress(AlreadyExists):
            await client.send(create(name, "restart"))


def test_a_restart_of_the_api_server_is_survived(kube: RealKube) -> None:
    maps = Watched(kinds.CONFIG_MAP, ConfigMap, Selection(NS, labels="colour=restart"))
    born: list[str] = []

    async def run() -> None:
        async with Client(as_admin(kube)) as client:
            await make_namespace(client, NS)
            mirror = Mirror(client, (maps,), chance=lambda: 0.0)
            mirror.store(maps).subscribe(
                lambda old, new: born.append(new.metadata.name) if new and not old else None
            )
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(mirror.run())
                await asyncio.wait_for(mirror.synced(), 10)
                with suppress(AlreadyExists):
                    await client.send(create("before", "restart"))
                await until(lambda: born == ["before"])
                place = kube.masters.place
                daemons.stop(masters.mark(place.data, "kube-apiserver"))
                await until(lambda: mirror.reflectors[maps].trouble is not None)
                await until(lambda: not masters.running(place.data)["kube-apiserver"])
                # Not in a thread of its own: the kernel ends the server with the thread.
                kube.masters.start_api()
                await created(client, "after")
                await until(lambda: "after" in born, within=60)
                task.cancel()

    asyncio.run(run())
    assert born == ["before", "after"]
