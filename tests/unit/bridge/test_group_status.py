"""What PodGroups of Kubernetes show of their gangs."""

from typing import Any

import pytest

from tests.unit.bridge.staging import Stage, play
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.values.key import Key

GANG = {"schedulingPolicy": {"gang": {"minCount": 2}}}
OF_GROUP = {"schedulingGroup": {"podGroupName": "g"}}


def _shown(stage: Stage, kind: Kind = kinds.CORE_POD_GROUP) -> dict[str, Any]:
    found = stage.kube.find(kind, Key("team", "g"))
    assert found is not None
    every = found.get("status", {}).get("conditions") or []
    return next((each for each in every if each["type"] == "PodGroupScheduled"), {})


def _writes(stage: Stage) -> int:
    return sum(" ".join(each.name) == "apply PodGroup/status" for each in stage.kube.asked)


def test_a_group_shows_why_it_waits_and_that_it_was_placed() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=2)
        await stage.create(kinds.CORE_POD_GROUP, "g", spec=GANG)
        await stage.pod("a", spec=OF_GROUP)
        await stage.until(lambda: _shown(stage).get("status") == "False")
        assert _shown(stage)["reason"] == "Unschedulable"
        assert _shown(stage)["message"] == "1 of 2 pods are there"
        await stage.pod("b", spec=OF_GROUP)
        await stage.until(lambda: _shown(stage).get("status") == "True")
        assert (stage.host("a"), stage.host("b")) == ("n1", "n1")
        said = "Pod group admitted by slurm-bridge-scheduler"
        assert (_shown(stage)["reason"], _shown(stage)["message"]) == ("Scheduled", said)
        for name in ("a", "b"):
            await stage.phase(name, "Running")
        with pytest.raises(AssertionError):
            await stage.until(lambda: _writes(stage) > 2, within=30)

    play(story)


def test_a_gang_that_starts_at_once_is_told_once() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=2)
        await stage.create(kinds.CORE_POD_GROUP, "g", spec=GANG)
        for name in ("a", "b"):
            await stage.pod(name, spec=OF_GROUP)
        await stage.until(lambda: _shown(stage).get("status") == "True")

    assert _writes(play(story)) == 1


def test_the_groups_of_others_are_told_by_their_own_controller() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=2)
        await stage.create(kinds.POD_GROUP, "g", spec={"minMember": 2})
        for name in ("a", "b"):
            await stage.pod(name, labels={"scheduling.x-k8s.io/pod-group": "g"})
        await stage.until(lambda: bool(stage.host("a") and stage.host("b")))

    assert _writes(play(story)) == 0
