"""Gangs of every kind, with the whole bridge at work."""

import asyncio
from functools import partial
from typing import Any

import pytest

from tests.unit.bridge.staging import Stage, play
from windlass.bridge import words
from windlass.kube import kinds, requests
from windlass.kube.errors import Unavailable
from windlass.kube.kinds import Kind
from windlass.kube.requests import Deletion, Request
from windlass.kube.wire import Document
from windlass.slurm.call import Response
from windlass.slurm.transport import Message
from windlass.testing.fake_slurm import FakeSlurm
from windlass.values.key import Key

INDEXED = {"parallelism": 3, "completions": 3, "completionMode": "Indexed"}


def _owned(by: Document, kind: Kind) -> list[dict[str, Any]]:
    meta = by.metadata
    reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": meta.name}
    return [{**reference, "uid": meta.uid, "controller": True}]


async def _job(stage: Stage, name: str = "train", **spec: Any) -> list[dict[str, Any]]:
    return _owned(await stage.create(kinds.JOB, name, spec={**INDEXED, **spec}), kinds.JOB)


async def _member(stage: Stage, index: int, owners: list[dict[str, Any]], **given: Any) -> None:
    labels = {words.COMPLETION_INDEX: str(index)}
    await stage.pod(f"train-{index}", ownerReferences=owners, labels=labels, **given)


def _hosts(stage: Stage, count: int = 3) -> list[str]:
    return [stage.host(f"train-{index}") for index in range(count)]


def test_the_pods_of_a_gang_become_one_job_once_all_are_there() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        owners = await _job(stage)
        await _member(stage, 0, owners)
        await _member(stage, 1, owners)
        await stage.until(lambda: stage.condition("train-0").get("reason") == "PodsMissing")
        await _member(stage, 2, owners)
        await stage.until(lambda: all(_hosts(stage)))

    assert play(story).calls("POST /job/submit") == 1


def test_ranks_follow_the_order_of_nodes() -> None:
    async def story(stage: Stage) -> None:
        for name in ("n1", "n2", "n3"):
            await stage.node(name, cpus=1)
        notes = {f"{words.JOB_PREFIX}min-nodes": "3"}
        owners = await _job(stage)
        for index in (2, 0, 1):
            await _member(stage, index, owners, annotations=notes)
        await stage.until(lambda: all(_hosts(stage)))
        assert _hosts(stage) == ["n1", "n2", "n3"]

    assert play(story).calls("GET /resources/1") == 1


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_gang_of_which_one_was_bound_when_the_bridge_was_killed_keeps_its_order(
    first: int,
) -> None:
    def only_the_first(request: Request[Any]) -> Unavailable | None:
        meant = f"/train-{first}/binding" in request.path
        return Unavailable("not now") if request.method != "GET" and not meant else None

    async def story(stage: Stage) -> None:
        for name in ("n1", "n2", "n3"):
            await stage.node(name, cpus=1)
        notes = {f"{words.JOB_PREFIX}min-nodes": "3"}
        owners = await _job(stage)
        for index in range(3):
            await _member(stage, index, owners, annotations=notes)
        stage.kube.before = only_the_first
        await stage.until(lambda: bool(stage.host(f"train-{first}")))
        await stage.stop()
        assert sum(map(bool, _hosts(stage))) == 1
        stage.kube.before = lambda _: None
        await stage.restart()
        await stage.until(lambda: all(stage.kept(f"train-{index}") for index in range(3)))
        assert _hosts(stage) == ["n1", "n2", "n3"]

    assert play(story).calls("POST /job/submit") == 1


def test_a_gang_ends_when_the_last_of_its_pods_does() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        owners = await _job(stage)
        for index in range(3):
            await _member(stage, index, owners)
        await stage.until(lambda: all(_hosts(stage)))
        await stage.phase("train-0", "Succeeded")
        await stage.until(lambda: not stage.live("train-0")["metadata"].get("finalizers"))
        assert len(stage.jobs("RUNNING")) == 1
        await stage.phase("train-1", "Failed", 2)
        await stage.phase("train-2", "Succeeded")
        await stage.until(lambda: len(stage.jobs("CANCELLED")) == 1)
        assert "train-1 failed: exit code 2" in stage.jobs()[0].comment

    play(story)


def test_an_owner_of_an_unknown_kind_does_no_harm() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        owner = {"apiVersion": "batch.volcano.sh/v1", "kind": "Job", "name": "v", "uid": "v"}
        await _member(stage, 0, [{**owner, "controller": True}])
        await stage.until(lambda: bool(stage.host("train-0")))

    play(story)


def test_a_gang_that_loses_a_pod_while_it_waits_is_taken_back() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=1)
        await stage.pod("first")
        await stage.until(lambda: bool(stage.host("first")))
        owners = await _job(stage)
        for index in range(3):
            await _member(stage, index, owners)
        await stage.until(lambda: len(stage.jobs("PENDING")) == 1)
        await stage.delete("train-2")
        await stage.until(lambda: len(stage.jobs("CANCELLED")) == 1)
        await _member(stage, 2, owners)
        await stage.until(lambda: len(stage.jobs("PENDING")) == 1)
        assert stage.there("train-0")

    play(story)


def test_a_group_that_grows_while_it_waits_has_its_job_updated() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=1)
        await stage.pod("first")
        await stage.until(lambda: bool(stage.host("first")))
        await stage.create(kinds.POD_GROUP, "g", spec={"minMember": 1})
        label = {words.POD_GROUP: "g"}
        await stage.pod("train-0", labels=label)
        await stage.until(lambda: len(stage.jobs("PENDING")) == 1)
        await stage.pod("train-1", labels=label)
        await stage.until(lambda: stage.calls("POST /job/2") + stage.calls("DELETE /job/2") > 0)
        await stage.until(lambda: len(stage.jobs("PENDING")) == 1)

    play(story)


def test_who_joins_a_group_that_runs_gets_no_more_than_its_job_has() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=4)
        await stage.create(kinds.POD_GROUP, "g", spec={"minMember": 2})
        label = {words.POD_GROUP: "g"}
        for name in ("train-0", "train-1"):
            await stage.pod(name, labels=label)
        await stage.until(lambda: all(_hosts(stage, 2)))
        await stage.pod("train-2", labels=label)
        await stage.until(lambda: stage.condition("train-2").get("reason") == "SlurmJobFull")
        await stage.phase("train-0", "Succeeded")
        await stage.until(lambda: bool(stage.host("train-2")))

    play(story)


def test_nobody_is_bound_for_a_job_that_was_just_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = FakeSlurm.round_trip

    async def slow(slurm: FakeSlurm, message: Message) -> Response:
        answer = await heard(slurm, message)
        if message.method == "POST" and message.target.endswith("/job/1"):
            await asyncio.sleep(0.5)  # so long that the job is seen to run
        return answer

    async def story(stage: Stage) -> None:
        for name in ("n1", "n2", "n3"):
            await stage.node(name)
        stage.slurm.cluster.defers = True
        await stage.create(kinds.POD_GROUP, "g", spec={"minMember": 2})
        label = {words.POD_GROUP: "g"}
        for name in ("train-0", "train-1"):
            await stage.pod(name, labels=label)
        await stage.until(lambda: all(stage.condition(f"train-{i}") for i in range(2)))
        stage.start(1)
        await stage.pod("train-2", labels=label)
        await stage.until(lambda: len(stage.jobs("PENDING")) == 1)
        stage.start(2)
        await stage.until(lambda: all(_hosts(stage)))
        assert {stage.live(f"train-{i}")["metadata"]["labels"][words.JOB_ID] for i in range(3)} == {
            "2"
        }

    monkeypatch.setattr(FakeSlurm, "round_trip", slow)
    play(story)


def test_a_group_that_is_named_and_not_there_is_waited_for() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await stage.pod("train-0", labels={words.POD_GROUP: "g"})
        await stage.until(lambda: stage.condition("train-0").get("reason") == "PodGroupMissing")
        await stage.create(kinds.POD_GROUP, "g", spec={"minMember": 1})
        await stage.until(lambda: bool(stage.host("train-0")))

    play(story)


def test_a_pod_that_is_made_anew_takes_the_place_of_the_one_that_failed() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        owners = await _job(stage)
        for index in range(3):
            await _member(stage, index, owners)
        await stage.until(lambda: all(_hosts(stage)))
        await stage.phase("train-1", "Failed", 1)
        labels = {words.COMPLETION_INDEX: "1"}
        await stage.pod("train-1b", ownerReferences=owners, labels=labels)
        await stage.until(lambda: bool(stage.host("train-1b")))

    assert play(story).calls("POST /job/submit") == 1


def test_all_pods_of_a_preempted_gang_go_and_those_that_follow_are_a_new_job() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        owners = await _job(stage)
        for index in range(3):
            await _member(stage, index, owners)
        await stage.until(lambda: all(_hosts(stage)))
        stage.slurm.cluster.finish(1, "PREEMPTED")
        for index in range(3):
            name = f"train-{index}"
            await stage.until(partial(stage.leaving, name))
            await stage.phase(name, "Failed", 143)
        for index in range(3):
            await stage.pod(
                f"next-{index}", ownerReferences=owners, labels={words.COMPLETION_INDEX: str(index)}
            )
        await stage.until(lambda: all(stage.host(f"next-{index}") for index in range(3)))

    assert play(story).calls("POST /job/submit") == 2


def test_the_job_of_a_gang_whose_owner_is_deleted_is_kept_until_its_pods_are_gone() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        owners = await _job(stage)
        for index in range(3):
            await _member(stage, index, owners)
        await stage.until(lambda: all(_hosts(stage)))
        await stage.kube.send(requests.delete(kinds.JOB, Key("team", "train")))
        for index in range(3):
            await stage.until(partial(stage.leaving, f"train-{index}"))
        with pytest.raises(AssertionError):
            await stage.until(lambda: not stage.jobs("RUNNING"), 20)
        for index in range(3):
            await stage.phase(f"train-{index}", "Failed", 143)
        await stage.until(lambda: not stage.jobs("RUNNING"))
        for index in range(3):
            await stage.until(lambda name=f"train-{index}": not stage.kept(name))  # type: ignore[misc]

    assert play(story).calls("POST /job/submit") == 1


def test_pods_whose_owner_lets_go_of_them_keep_their_places_and_get_no_others() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        owners = await _job(stage)
        for index in range(3):
            await _member(stage, index, owners)
        await stage.until(lambda: all(_hosts(stage)))
        orphan = Deletion(propagation="Orphan")
        await stage.kube.send(requests.delete(kinds.JOB, Key("team", "train"), orphan))
        with pytest.raises(AssertionError):
            await stage.until(lambda: not stage.jobs("RUNNING"), 60)
        for index in range(3):
            await stage.phase(f"train-{index}", "Succeeded")
        await stage.until(lambda: not stage.jobs("RUNNING"))

    assert play(story).calls("POST /job/submit") == 1


def test_the_job_of_pods_whose_binding_is_not_heard_of_yet_is_kept() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        stage.slurm.cluster.defers = True
        owners = await _job(stage)
        for index in range(3):
            await _member(stage, index, owners)
        await stage.until(lambda: all(stage.condition(f"train-{i}") for i in range(3)))
        stage.late = 8.0
        stage.start(1)
        await stage.until(lambda: all(_hosts(stage)))
        await stage.kube.send(requests.delete(kinds.JOB, Key("team", "train")))
        with pytest.raises(AssertionError):
            await stage.until(lambda: not stage.jobs("RUNNING"), 20)

    play(story)


def test_of_two_jobs_for_one_gang_the_younger_is_ended() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await stage.pod("p")
        await stage.until(lambda: bool(stage.host("p")))
        twin = stage.slurm.cluster.new_job()
        twin.admin_comment, twin.partition = stage.jobs()[0].admin_comment, "all"
        stage.slurm.cluster.touch("jobs")
        await stage.until(lambda: stage.jobs("CANCELLED") == [twin])
        assert len(stage.jobs("RUNNING")) == 1

    play(story)


def test_nothing_is_written_where_nothing_changes() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        owners = await _job(stage)
        for index in range(3):
            await _member(stage, index, owners)
        await stage.until(lambda: all(_hosts(stage)))
        before = len(stage.writes()), stage.calls("POST /job/submit")
        with pytest.raises(AssertionError):
            await stage.until(
                lambda: (len(stage.writes()), stage.calls("POST /job/submit")) != before, 120
            )
        changes = {"metadata": {"annotations": {"somebody": "else"}}}
        request = requests.merge_patch(kinds.POD, Key("team", "train-0"), changes, Document)
        await stage.kube.send(request)
        with pytest.raises(AssertionError):
            await stage.until(lambda: len(stage.writes()) > before[0] + 1, 60)

    play(story)
