"""A NodeSet with a worker on every host, on an API server in memory."""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec

from tests.unit.operator.staging import NOW, Stage, staged
from tests.unit.operator.workers.test_room import ROOM, cluster
from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.kube.objects import Pod
from windlass.kube.requests import Deletion, Selection
from windlass.kube.wire import Document
from windlass.operator.reconciler import Reconciler
from windlass.operator.workers.identity import host_of
from windlass.values.key import Key


async def add_host(stage: Stage, name: str, **more: Any) -> None:
    body = {"metadata": {"name": name, "labels": {"gpu": "yes"}}, **more}
    await stage.kube.send(requests.create(kinds.NODE, "", body, Document))
    await stage.caught_up()


async def change_host(stage: Stage, name: str, fields: dict[str, Any]) -> None:
    await stage.kube.send(requests.merge_patch(kinds.NODE, Key("", name), fields, Document))
    await stage.caught_up()


async def workers(stage: Stage) -> dict[str, dict[str, Any]]:
    """By the host that they are made for."""
    page = await stage.kube.send(requests.list_page(kinds.POD, Document, Selection("hpc")))
    return {each.body["spec"]["hostname"]: each.body for each in page.items or ()}


async def status(stage: Stage) -> dict[str, Any]:
    found = (await stage.live(kinds.NODE_SET, "w"))["status"]
    assert isinstance(found, dict)
    return found


def test_hosts_that_come_change_and_go_are_followed() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            template = {"spec": {"nodeSelector": {"gpu": "yes"}}}
            await add_host(stage, "n1.rack.example")
            await add_host(stage, "n2")
            await cluster(stage, scalingMode="DaemonSet", template=template)
            await stage.settle("w")
            found = await workers(stage)
            assert sorted(found) == ["n1", "n2"]
            assert (await status(stage))["desired"] == 2
            assert labels.POD_INDEX not in found["n1"]["metadata"]["labels"]

            await add_host(stage, "n3")
            await stage.settle("w")
            assert sorted(await workers(stage)) == ["n1", "n2", "n3"]

            # None of these pods is on its node yet: they go without Slurm's word.
            await change_host(stage, "n2", {"metadata": {"labels": {"gpu": "no"}}})
            await stage.settle("w")
            assert sorted(await workers(stage)) == ["n1", "n3"]
            assert (await status(stage))["desired"] == 2

            await stage.kube.send(requests.delete(kinds.NODE, Key("", "n3")))
            await stage.caught_up()
            await stage.settle("w")
            assert sorted(await workers(stage)) == ["n1"]

    asyncio.run(story())


def test_one_on_a_host_that_is_gone_stays_while_slurm_is_silent() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await add_host(stage, "n1")
            await cluster(stage, scalingMode="DaemonSet")
            await stage.settle("w")
            meta = (await workers(stage))["n1"]["metadata"]
            await stage.kube.send(requests.bind(Key("hpc", meta["name"]), meta["uid"], "n1"))
            await stage.kube.send(requests.delete(kinds.NODE, Key("", "n1")))
            await stage.caught_up()
            await stage.settle("w")

            assert sorted(await workers(stage)) == ["n1"]
            said = {each["type"]: each["reason"] for each in (await status(stage))["conditions"]}
            assert said["Progressing"] == "SlurmSilent"

    asyncio.run(story())


async def end(stage: Stage) -> str:
    """Have the worker of n1 evicted; its uid."""
    meta = (await workers(stage))["n1"]["metadata"]
    where = Key("hpc", meta["name"])
    await stage.kube.send(requests.bind(where, meta["uid"], "n1"))
    evicted = {"status": {"phase": "Failed", "reason": "Evicted"}}
    await stage.kube.send(requests.merge_patch(kinds.POD, where, evicted, Document, "status"))
    await stage.caught_up()
    return str(meta["uid"])


async def passes(stage: Stage, seconds: float) -> dict[str, Any]:
    """The metadata of the worker of n1 after a pass so much later."""
    moment = NOW + timedelta(seconds=seconds)
    later = Reconciler(ROOM, stage.world, stage.executor, lambda: moment)
    await later.reconcile(Key("hpc", "w"))
    await stage.caught_up()
    found = (await workers(stage))["n1"]["metadata"]
    assert isinstance(found, dict)
    return found


def test_one_that_ended_is_replaced_in_one_pass_and_the_next_one_knows_of_it() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await add_host(stage, "n1")
            await cluster(stage, scalingMode="DaemonSet")
            await stage.settle("w")
            first = await end(stage)
            assert (await passes(stage, 0.5))["uid"] == first
            said = {each["reason"] for each in (await status(stage))["conditions"]}
            assert "WorkerEnded" in said

            second = await passes(stage, 1.5)
            assert second["uid"] != first
            assert second["annotations"][labels.POD_FAILURES] == "1"

            await end(stage)
            assert (await passes(stage, 1.5))["uid"] == second["uid"]
            third = await passes(stage, 2.5)
            assert third["annotations"][labels.POD_FAILURES] == "2"

    asyncio.run(story())


# --- numbered workers that come back to their host ----------------------------------------------


def pinned_hosts(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: host_of(msgspec.convert(body, Pod)) for name, body in found.items()}


async def start(stage: Stage, name: str, host: str) -> None:
    where = Key("hpc", name)
    uid = (await stage.live(kinds.POD, name))["metadata"]["uid"]
    await stage.kube.send(requests.bind(where, uid, host))
    running = {"status": {"phase": "Running"}}
    await stage.kube.send(requests.merge_patch(kinds.POD, where, running, Document, "status"))
    await stage.caught_up()


async def remove(stage: Stage, name: str) -> None:
    await stage.kube.send(requests.delete(kinds.POD, Key("hpc", name), Deletion(grace_seconds=0)))
    await stage.caught_up()


def test_a_pinned_worker_comes_back_to_its_host_until_that_is_gone() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await add_host(stage, "n1")
            await cluster(stage, replicas=1, pinToNode=True)
            await stage.settle("w")
            assert pinned_hosts(await workers(stage)) == {"w-0": ""}
            await start(stage, "w-0", "n1")
            await stage.settle("w")
            assert (await status(stage))["ordinalToNode"] == {"0": "n1"}

            await remove(stage, "w-0")
            await stage.settle("w")
            assert pinned_hosts(await workers(stage)) == {"w-0": "n1"}

            await stage.kube.send(requests.delete(kinds.NODE, Key("", "n1")))
            await stage.caught_up()
            await stage.settle("w")
            assert "ordinalToNode" not in await status(stage)
            assert pinned_hosts(await workers(stage)) == {"w-0": ""}

    asyncio.run(story())


def test_what_was_remembered_goes_when_it_is_not_asked_for_any_more() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await add_host(stage, "n1")
            await cluster(stage, replicas=1, pinToNode=True)
            await stage.settle("w")
            await start(stage, "w-0", "n1")
            await stage.settle("w")
            await stage.change(kinds.NODE_SET, "w", {"spec": {"pinToNode": False}})
            await stage.settle("w")

            assert "ordinalToNode" not in await status(stage)

    asyncio.run(story())
