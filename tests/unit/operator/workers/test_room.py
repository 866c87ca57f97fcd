"""A NodeSet from beginning to rest, on an API server in memory."""

import asyncio
from typing import Any

from tests.unit.operator.staging import NOW, Stage, staged
from tests.unit.operator.workers.observed import slurm
from windlass.kube import kinds, requests
from windlass.kube.requests import Selection
from windlass.kube.wire import Document
from windlass.operator.executor import Subject
from windlass.operator.plan import Delete
from windlass.operator.reconciler import Room
from windlass.operator.site import Site
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.observe import Observed, Observer
from windlass.operator.workers.plan import plan
from windlass.slurm.model import Node
from windlass.values.key import Key

ROOM: Room[Observed] = Room(kinds.NODE_SET, Observer(Site()).observe, plan)


async def cluster(stage: Stage, **spec: Any) -> None:
    await stage.create(kinds.SECRET, "slurm-auth-slurm", data={"slurm.key": "a2V5"})
    await stage.create(kinds.CONTROLLER, "slurm", spec={})
    await node_set(stage, "w", **spec)


async def node_set(stage: Stage, name: str, **spec: Any) -> None:
    await stage.create(kinds.NODE_SET, name, spec={"controllerRef": {"name": "slurm"}, **spec})


async def pods(stage: Stage) -> list[str]:
    page = await stage.kube.send(requests.list_page(kinds.POD, Document, Selection("hpc")))
    return sorted(each.metadata.name for each in page.items or ())


def test_workers_are_made_once_and_nothing_is_written_at_rest() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await cluster(stage, replicas=3)
            await stage.settle("w")

            assert await pods(stage) == ["w-0", "w-1", "w-2"]
            shown = (await stage.live(kinds.NODE_SET, "w"))["status"]
            assert (shown["replicas"], shown["updatedReplicas"]) == (3, 3)
            assert stage.told.reasons.count("BestEffortWorkers") == 1

    asyncio.run(story())


def test_pods_on_no_node_go_when_they_are_too_many() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await cluster(stage, replicas=3)
            await stage.settle("w")
            await stage.change(kinds.NODE_SET, "w", {"spec": {"replicas": 1}})
            await stage.settle("w")

            assert await pods(stage) == ["w-0"]

    asyncio.run(story())


def test_a_pod_that_got_a_node_since_it_was_seen_stays() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await cluster(stage, replicas=1)
            await stage.settle("w")
            await stage.change(kinds.NODE_SET, "w", {"spec": {"replicas": 0}})
            document = Document(await stage.live(kinds.NODE_SET, "w"))
            stale = plan(await Observer(Site()).observe(stage.world, document), NOW)

            uid = (await stage.live(kinds.POD, "w-0"))["metadata"]["uid"]
            await stage.kube.send(requests.bind(Key("hpc", "w-0"), uid, "n1"))
            subject = Subject(kinds.NODE_SET, document.metadata)
            failures = await stage.executor.carry_out(subject, stale)

            assert [each.key.name for each in stale.steps if isinstance(each, Delete)] == ["w-0"]
            assert failures == []
            assert "deletionTimestamp" not in (await stage.live(kinds.POD, "w-0"))["metadata"]

    asyncio.run(story())


def test_node_sets_of_a_cluster_own_the_service_together() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await cluster(stage)
            await node_set(stage, "a")
            await stage.settle("w")
            await stage.settle("a")
            before = stage.writes()
            await stage.settle("w")

            assert stage.writes() == before
            owners = (await stage.live(kinds.SERVICE, "slurm-workers-slurm"))["metadata"]
            assert [each["name"] for each in owners["ownerReferences"]] == ["a", "w"]

    asyncio.run(story())


async def revisions(stage: Stage) -> dict[str, int]:
    """By the image of slurmd, the number of the revision."""
    selection = Selection("hpc")
    page = await stage.kube.send(requests.list_page(kinds.CONTROLLER_REVISION, Document, selection))
    return {
        each.body["data"]["spec"]["slurmd"]["image"]: each.body["revision"]
        for each in page.items or ()
    }


def test_a_revision_that_comes_back_is_the_newest_again() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await cluster(stage, replicas=1, revisionHistoryLimit=1, slurmd={"image": "a"})
            await stage.settle("w")
            for image in ("b", "a", "c"):
                await stage.change(kinds.NODE_SET, "w", {"spec": {"slurmd": {"image": image}}})
                await stage.settle("w")
                if image == "a":
                    assert await revisions(stage) == {"b": 2, "a": 3}

            assert await revisions(stage) == {"a": 3, "c": 4}

    asyncio.run(story())


def test_pods_of_a_set_that_is_gone_are_waited_for() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            labels = {"app.kubernetes.io/name": "slurmd", "app.kubernetes.io/instance": "w"}
            owner = {
                "apiVersion": "slinky.slurm.net/v1beta1",
                "kind": "NodeSet",
                "name": "w",
                "uid": "gone",
                "controller": True,
            }
            meta = {"labels": labels, "ownerReferences": [owner]}
            spec = {"containers": [{"name": "slurmd", "image": "x"}]}
            await stage.create(kinds.POD, "w-0", metadata=meta, spec=spec)
            await cluster(stage, replicas=2)
            await stage.settle("w")

            assert await pods(stage) == ["w-0", "w-1"]
            shown = (await stage.live(kinds.NODE_SET, "w"))["status"]
            assert shown["replicas"] == 1

    asyncio.run(story())


# --- with Slurm -------------------------------------------------------------------------------


def seeing(nodes: dict[str, Node] | None) -> Room[Observed]:
    return Room(
        kinds.NODE_SET,
        Observer(Site(), lambda _: None if nodes is None else Seen(nodes)).observe,
        plan,
    )


async def shown(stage: Stage, name: str) -> tuple[list[str], str | None]:
    body = await stage.live(kinds.POD, name)
    types = [each["type"] for each in (body.get("status") or {}).get("conditions") or ()]
    label = body["metadata"]["labels"].get("nodeset.slinky.slurm.net/pod-protect")
    return [each[14:] for each in types if each.startswith("SlurmNodeState")], label


async def place(stage: Stage, *names: str) -> None:
    for name in names:
        uid = (await stage.live(kinds.POD, name))["metadata"]["uid"]
        await stage.kube.send(requests.bind(Key("hpc", name), uid, f"node-of-{name}"))
    await stage.caught_up()


def test_pods_show_slurms_state_and_nothing_is_written_at_rest() -> None:
    async def story() -> None:
        nodes = slurm(w_0="MIXED+DRAIN", w_1="IDLE")
        async with staged(seeing(nodes)) as stage:
            await cluster(stage, replicas=3)
            await stage.settle("w")
            await place(stage, "w-0", "w-1", "w-2")
            await stage.settle("w")

            assert await shown(stage, "w-0") == (["Mixed", "Drain"], "true")
            assert await shown(stage, "w-1") == (["Idle"], None)
            assert await shown(stage, "w-2") == ([], None)

            nodes.update(slurm(w_0="IDLE", w_1="ALLOCATED", w_2="IDLE"))
            before = stage.writes()
            await stage.settle("w")
            # Protection comes at once and goes later; so does the news that a job has come.
            assert await shown(stage, "w-0") == (["Idle"], "true")
            assert await shown(stage, "w-1") == (["Idle"], "true")
            # A label, two pods' conditions, and the status of the set.
            assert stage.writes() == before + 4

    asyncio.run(story())
