"""Marks and conditions on pods, which others write too, on an API server in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.unit.operator.staging import Stage, staged
from tests.unit.operator.workers.test_room import ROOM
from windlass.kube import kinds, requests
from windlass.kube.meta import Meta
from windlass.kube.wire import Document
from windlass.operator.executor import Subject
from windlass.operator.plan import Action, Mark, Plan, ShowConditions
from windlass.values.key import Key

POD = Key("hpc", "w-0")
SUBJECT = Subject(kinds.NODE_SET, Meta(name="w", namespace="hpc"))


def told(story: Callable[[Stage, str], Awaitable[None]]) -> None:
    """Of a pod, by its uid, of which kubelet has said that it is ready."""

    async def run() -> None:
        async with staged(ROOM) as stage:
            spec = {"containers": [{"name": "slurmd", "image": "x"}]}
            made = await stage.create(kinds.POD, "w-0", metadata={"labels": {"a": "b"}}, spec=spec)
            await kubelet_says(stage, {"type": "Ready", "status": "True"})
            await story(stage, made.metadata.uid)

    asyncio.run(run())


async def kubelet_says(stage: Stage, *conditions: dict[str, Any]) -> None:
    change = {"status": {"conditions": list(conditions)}}
    request = requests.merge_patch(kinds.POD, POD, change, Document, "status")
    await stage.kube.send(request)


async def do(stage: Stage, action: Action) -> None:
    failures = await stage.executor.carry_out(SUBJECT, Plan((action,)))
    assert [str(failure) for failure in failures] == []


def showing(uid: str, *names: str) -> ShowConditions:
    conditions = tuple({"type": f"Slurm{name}", "status": "True"} for name in names)
    return ShowConditions(kinds.POD, POD, uid, "Slurm", conditions)


async def shown(stage: Stage) -> list[str]:
    return [each["type"] for each in (await stage.live(kinds.POD, "w-0"))["status"]["conditions"]]


def test_conditions_come_and_go_and_kubelets_stay() -> None:
    async def story(stage: Stage, uid: str) -> None:
        await do(stage, showing(uid, "Idle", "Drain"))
        assert await shown(stage) == ["Ready", "SlurmIdle", "SlurmDrain"]

        await do(stage, showing(uid, "Mixed"))
        assert await shown(stage) == ["Ready", "SlurmMixed"]

        await do(stage, showing(uid))
        assert await shown(stage) == ["Ready"]

    told(story)


def test_conditions_that_others_left_are_taken_away() -> None:
    async def story(stage: Stage, uid: str) -> None:
        left = [{"type": f"Slurm{name}", "status": "True"} for name in ("Idle", "Drain", "Mixed")]
        await kubelet_says(stage, left[0], {"type": "Ready", "status": "True"}, *left[1:])

        await do(stage, showing(uid, "Drain"))

        assert await shown(stage) == ["Ready", "SlurmDrain"]
        before = stage.writes()
        await do(stage, showing(uid, "Drain", "Idle"))
        assert stage.writes() == before + 1

    told(story)


def test_a_label_comes_and_goes_and_others_stay() -> None:
    async def story(stage: Stage, uid: str) -> None:
        for value in ("true", None):
            await do(stage, Mark(kinds.POD, POD, uid, {"protect": value}))
            known = (await stage.live(kinds.POD, "w-0"))["metadata"]["labels"]
            assert known == ({"a": "b", "protect": "true"} if value else {"a": "b"})

    told(story)


@pytest.mark.parametrize(
    "action",
    [showing("another", "Idle"), Mark(kinds.POD, POD, "another", {"protect": "true"})],
    ids=["conditions", "label"],
)
def test_another_pod_of_that_name_is_left_alone(action: Action) -> None:
    async def story(stage: Stage, uid: str) -> None:
        before = await stage.live(kinds.POD, "w-0")
        await do(stage, action)
        assert await stage.live(kinds.POD, "w-0") == before

    told(story)


@pytest.mark.parametrize(
    "action",
    [
        ShowConditions(kinds.POD, Key("hpc", "gone"), "u", "Slurm", ()),
        Mark(kinds.POD, Key("hpc", "gone"), "u", {"protect": "true"}),
    ],
    ids=["conditions", "label"],
)
def test_of_a_pod_that_is_gone_there_is_nothing_to_say(action: Action) -> None:
    async def story(stage: Stage, uid: str) -> None:
        await do(stage, action)

    told(story)
