"""A NodeSet whose workers have claims, on an API server in memory."""

import asyncio
from datetime import timedelta
from typing import Any

from tests.unit.operator.staging import NOW, Stage, staged
from tests.unit.operator.workers.test_room import ROOM, cluster
from windlass.kube import kinds, requests
from windlass.kube.requests import Selection
from windlass.kube.wire import Document
from windlass.operator.reconciler import Reconciler
from windlass.operator.workers.phases.claims import GRACE
from windlass.values.key import Key

TEMPLATES = [{"metadata": {"name": "scratch"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]


def policy(**said: str) -> dict[str, Any]:
    return {"persistentVolumeClaimRetentionPolicy": said}


async def claims(stage: Stage) -> dict[str, list[str]]:
    """By name, the kinds of their owners."""
    kind = kinds.PERSISTENT_VOLUME_CLAIM
    page = await stage.kube.send(requests.list_page(kind, Document, Selection("hpc")))
    return {
        each.metadata.name: [owner.kind for owner in each.metadata.owner_references or ()]
        for each in page.items or ()
    }


async def later(stage: Stage, seconds: float) -> None:
    moment = NOW + timedelta(seconds=seconds)
    reconciler = Reconciler(ROOM, stage.world, stage.executor, lambda: moment)
    await reconciler.reconcile(Key("hpc", "w"))
    await stage.caught_up()


def test_claims_outlive_workers_that_are_scaled_away_only_if_they_are_retained() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await cluster(stage, replicas=2, volumeClaimTemplates=TEMPLATES)
            await stage.settle("w")
            assert await claims(stage) == {"scratch-w-0": [], "scratch-w-1": []}
            await stage.change(kinds.NODE_SET, "w", {"spec": {"replicas": 1}})
            await stage.settle("w")
            await later(stage, GRACE + 1)
            assert sorted(await claims(stage)) == ["scratch-w-0", "scratch-w-1"]

            await stage.change(kinds.NODE_SET, "w", {"spec": policy(whenScaled="Delete")})
            await stage.settle("w")
            assert sorted(await claims(stage)) == ["scratch-w-0", "scratch-w-1"]
            await later(stage, GRACE + 1)
            assert sorted(await claims(stage)) == ["scratch-w-0"]
            assert "ClaimsDeleted" in stage.told.reasons

    asyncio.run(story())


def test_a_worker_that_is_wanted_again_in_time_finds_its_claim() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            spec = {"volumeClaimTemplates": TEMPLATES, **policy(whenScaled="Delete")}
            await cluster(stage, replicas=2, **spec)
            await stage.settle("w")
            uid = (await stage.live(kinds.PERSISTENT_VOLUME_CLAIM, "scratch-w-1"))["metadata"][
                "uid"
            ]
            await stage.change(kinds.NODE_SET, "w", {"spec": {"replicas": 1}})
            await stage.settle("w")
            await stage.change(kinds.NODE_SET, "w", {"spec": {"replicas": 2}})
            await stage.settle("w")
            await later(stage, GRACE + 1)

            found = (await stage.live(kinds.PERSISTENT_VOLUME_CLAIM, "scratch-w-1"))["metadata"]
            assert found["uid"] == uid
            assert not found.get("annotations")

    asyncio.run(story())


def test_the_owner_of_claims_follows_the_policy() -> None:
    async def story() -> None:
        async with staged(ROOM) as stage:
            await cluster(stage, replicas=1, volumeClaimTemplates=TEMPLATES)
            await stage.settle("w")
            await stage.change(kinds.NODE_SET, "w", {"spec": policy(whenDeleted="Delete")})
            await stage.settle("w")
            assert await claims(stage) == {"scratch-w-0": ["NodeSet"]}
            await stage.change(kinds.NODE_SET, "w", {"spec": policy(whenDeleted="Retain")})
            await stage.settle("w")
            assert await claims(stage) == {"scratch-w-0": []}

    asyncio.run(story())
