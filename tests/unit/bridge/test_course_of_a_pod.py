"""One pod from its making to its end, with the whole bridge at work."""

import json
from typing import Any

import pytest

from tests.unit.bridge.staging import Stage, play
from windlass.bridge import words
from windlass.kube import kinds, requests
from windlass.kube.errors import Unavailable
from windlass.kube.requests import Deletion, Request
from windlass.kube.wire import Document
from windlass.slurm import errors
from windlass.slurm.call import Response
from windlass.slurm.transport import Message
from windlass.testing import fake_pods
from windlass.testing.fake_objects import Objects
from windlass.testing.fake_slurm import FakeSlurm
from windlass.values.key import Key


async def _bound(stage: Stage, name: str = "p", **given: Any) -> None:
    await stage.pod(name, **given)
    await stage.until(lambda: bool(stage.host(name)))


def test_a_pod_becomes_a_job_and_is_bound_where_it_runs() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await stage.pod("first")
        await stage.until(lambda: bool(stage.host("first")))
        await stage.pod("p")
        assert await stage.until(lambda: bool(stage.host("p"))) < 2
        pod, job = stage.live("p"), stage.jobs()[1]
        assert pod["spec"]["nodeName"] == pod["metadata"]["annotations"][words.NODE] == "n1"
        assert pod["metadata"]["labels"][words.JOB_ID] == str(job.job_id)
        await stage.until(lambda: stage.kept("p"), within=1)
        assert json.loads(job.admin_comment)["windlass"]["uid"] == pod["metadata"]["uid"]

    stage = play(story)
    assert stage.calls("POST /job/submit") == 2
    assert stage.writes().count("patch Pod") == stage.writes().count("create Pod/binding") == 2
    assert "apply Pod/status" not in stage.writes()


def test_a_pod_is_bound_first_and_held_afterwards() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _bound(stage)
        await stage.until(lambda: stage.kept("p"))

    assert play(story).writes()[-2:] == ["create Pod/binding", "patch Pod"]


def test_a_pod_whose_hold_is_not_heard_of_yet_is_not_held_again() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _bound(stage, finalizers=["a.example/x"])
        stage.late = 2.0
        await stage.until(lambda: stage.kept("p"))
        for phase in ("Running", "Pending", "Running"):
            await stage.phase("p", phase)
        with pytest.raises(AssertionError):
            await stage.until(lambda: stage.writes().count("patch Pod") > 1, within=20)

    play(story)


def test_a_bridge_that_is_killed_right_after_a_binding_has_lost_nothing() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        _unheld(stage)
        await _bound(stage)
        await stage.stop()
        assert not stage.kept("p")
        _heldable(stage)
        await stage.restart()
        await stage.until(lambda: stage.kept("p"))
        await stage.phase("p", "Failed", 3)
        await stage.until(lambda: stage.jobs("CANCELLED") != [])
        assert "exit code 3" in stage.jobs()[0].comment
        await stage.until(lambda: not stage.kept("p"))

    assert play(story).calls("POST /job/submit") == 1


def test_a_pod_that_vanishes_before_it_is_held_ends_its_job() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        _unheld(stage)
        await _bound(stage)
        await stage.phase("p", "Running")
        how = Deletion(grace_seconds=0)
        await stage.kube.send(requests.delete(kinds.POD, Key("team", "p"), how))
        assert not stage.there("p")
        await stage.until(lambda: stage.jobs("CANCELLED") != [])

    play(story)


def test_a_pod_that_ends_before_it_is_held_needs_no_hold() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        _unheld(stage)
        await _bound(stage)
        await stage.phase("p", "Failed", 3)
        _heldable(stage)
        await stage.until(lambda: stage.jobs("CANCELLED") != [])
        assert "exit code 3" in stage.jobs()[0].comment
        with pytest.raises(AssertionError):
            await stage.until(lambda: stage.kept("p"), within=30)

    play(story)


def test_a_pod_that_is_being_deleted_is_held_no_more_and_keeps_its_place() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        _unheld(stage)
        await _bound(stage)
        await stage.phase("p", "Running")
        await stage.delete("p")
        _heldable(stage)
        with pytest.raises(AssertionError):
            await stage.until(lambda: stage.kept("p") or not stage.jobs("RUNNING"), within=20)
        await stage.phase("p", "Failed", 143)
        await stage.until(lambda: stage.jobs("CANCELLED") != [])

    play(story)


def test_an_api_server_that_takes_no_labels_with_a_binding_gets_them_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bind = fake_pods.bind

    def without_labels(objects: Objects, key: Key, binding: dict[str, Any]) -> None:
        bind(objects, key, {**binding, "metadata": {**binding["metadata"], "labels": {}}})

    monkeypatch.setattr(fake_pods, "bind", without_labels)

    async def story(stage: Stage) -> None:
        await stage.node("n1")
        _unheld(stage)
        await _bound(stage)
        assert "labels" not in stage.live("p")["metadata"]
        _heldable(stage)
        await stage.until(lambda: stage.kept("p"))
        assert stage.live("p")["metadata"]["labels"] == {words.JOB_ID: "1"}
        await stage.phase("p", "Succeeded")
        await stage.until(lambda: stage.jobs("CANCELLED") != [])

    assert play(story).calls("POST /job/submit") == 1


@pytest.mark.parametrize("others", [[], ["a.example/x"]])
@pytest.mark.parametrize("late", [0.0, 5.0])
def test_a_pod_that_is_deleted_in_the_moment_of_its_binding_holds_no_place(
    others: list[str], late: float
) -> None:
    """Its namesake gets it, or whoever is next where something else holds the pod."""
    stages: list[Stage] = []
    at = Key("team", "p")

    def before(request: Request[Any]) -> None:
        if request.path.endswith("/binding") and stages:
            stage = stages.pop()
            stage.late = late
            stage.kube.answer(requests.delete(kinds.POD, at))
            again = "p" if not others else "q"
            body = {"metadata": {"name": again, "namespace": "team"}, "spec": specs[0]}
            stage.kube.answer(requests.create(kinds.POD, "team", body, Document))

    specs: list[dict[str, Any]] = []

    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=1)
        stage.slurm.cluster.defers = True
        made = await stage.pod("p", finalizers=others)
        specs.append(made.body["spec"])
        stages.append(stage)
        stage.kube.before = before
        await stage.until(lambda: bool(stage.jobs("PENDING")))
        stage.start(1)
        await stage.until(lambda: bool(stage.jobs("CANCELLED")), within=30)
        await stage.until(lambda: bool(stage.jobs("PENDING")), within=30)
        stage.start(2)
        await stage.until(lambda: bool(stage.host("q" if others else "p")), within=30)

    play(story)
    assert not stages


@pytest.mark.parametrize("others", [[], ["a.example/x"]])
def test_finalizers_of_others_stay_as_they_are(others: list[str]) -> None:
    """Also where they change in the moment in which the pod is held."""
    theirs = ["a.example/y"]

    def before(request: Request[Any]) -> None:
        if request.content_type == requests.JSON_PATCH and stages:
            stage = stages.pop()
            change = {"metadata": {"finalizers": theirs}}
            at = Key("team", "p")
            stage.kube.answer(requests.merge_patch(kinds.POD, at, change, Document))

    stages: list[Stage] = []

    async def story(stage: Stage) -> None:
        stages.append(stage)
        await stage.node("n1")
        stage.kube.before = before
        await _bound(stage, finalizers=others)
        await stage.until(lambda: stage.kept("p"))
        assert stage.live("p")["metadata"]["finalizers"] == [*theirs, words.FINALIZER]

    play(story)
    assert not stages


def _unheld(stage: Stage) -> None:
    """No pod can be held: its patches fail."""

    def before(request: Request[Any]) -> Unavailable | None:
        return Unavailable("not now") if request.content_type == requests.JSON_PATCH else None

    stage.kube.before = before


def _heldable(stage: Stage) -> None:
    stage.kube.before = lambda _: None


@pytest.mark.parametrize(
    ("phase", "code", "comment"),
    [
        ("Succeeded", 0, "windlass-bridge: pod p succeeded (exit code 0)"),
        ("Failed", 3, "windlass-bridge: pod p failed: exit code 3 (exit code 3)"),
    ],
)
def test_a_pod_that_ends_ends_its_job_and_says_how(phase: str, code: int, comment: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _bound(stage)
        await stage.phase("p", phase, code)
        await stage.until(lambda: stage.jobs("CANCELLED") != [])
        await stage.until(lambda: not stage.live("p")["metadata"].get("finalizers"))
        assert stage.jobs()[0].comment == comment

    assert play(story).calls("DELETE /job/1") == 1


def test_a_pod_that_is_deleted_keeps_its_place_until_it_is_gone() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _bound(stage)
        await stage.phase("p", "Running")
        await stage.delete("p")
        with pytest.raises(AssertionError):
            await stage.until(lambda: not stage.jobs("RUNNING"), within=20)
        await stage.phase("p", "Failed", 143)
        await stage.until(lambda: stage.jobs("CANCELLED") != [])
        await stage.until(lambda: not stage.live("p")["metadata"].get("finalizers"))

    play(story)


@pytest.mark.parametrize("state", ["CANCELLED", "PREEMPTED", "TIMEOUT", "NODE_FAIL"])
def test_a_pod_whose_job_is_gone_is_deleted_with_its_grace(state: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _bound(stage)
        await stage.phase("p", "Running")
        stage.slurm.cluster.finish(1, state)
        await stage.until(lambda: "deletionTimestamp" in stage.live("p")["metadata"])
        await stage.phase("p", "Failed", 143)
        await stage.until(lambda: not stage.live("p")["metadata"].get("finalizers"))

    stage = play(story)
    assert stage.calls("POST /job/submit") == 1
    assert any(reason.startswith("SlurmJob") for reason in stage.told.reasons)


def test_nobody_gets_a_place_while_the_pods_of_an_ended_job_still_run_there() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=2)
        await _bound(stage, "old", cpus=2)
        await stage.phase("old", "Running")
        stage.slurm.cluster.finish(1, "PREEMPTED")
        await stage.pod("new", cpus=2)
        await stage.until(lambda: len(stage.jobs("RUNNING")) == 1)
        with pytest.raises(AssertionError):
            await stage.until(lambda: bool(stage.host("new")), within=20)
        assert stage.condition("new")["reason"] == "NodeNotYetFree"
        await stage.phase("old", "Failed", 143)
        assert await stage.until(lambda: stage.host("new") == "n1") < 2

    play(story)


def test_a_pod_that_waits_says_why_and_not_too_often() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=1)
        await _bound(stage, "first")
        await stage.pod("p")
        await stage.until(lambda: bool(stage.condition("p")))
        said = stage.condition("p")
        assert (said["status"], said["reason"]) == ("False", "SlurmResources")
        assert said["message"].startswith("Slurm job 2 waits: it is next, and waits for room")
        before = len(stage.writes())
        stage.jobs()[1].state_reason = "Priority"
        stage.slurm.cluster.touch("jobs")
        took = await stage.until(lambda: stage.condition("p")["reason"] == "SlurmPriority")
        assert took > 5
        assert stage.condition("p")["lastTransitionTime"] == said["lastTransitionTime"]
        with pytest.raises(AssertionError):
            await stage.until(lambda: len(stage.writes()) > before + 1, within=30)
        await stage.phase("first", "Succeeded")
        await stage.until(lambda: stage.jobs("CANCELLED") != [])
        stage.start(2)
        assert await stage.until(lambda: stage.host("p") == "n1") < 1.5

    stage = play(story)
    assert stage.told.reasons.count("SlurmResources") == 1


def test_a_pod_that_is_deleted_while_it_waits_takes_its_job_along() -> None:
    async def story(stage: Stage) -> None:
        await stage.pod("p")
        await stage.node("n1", cpus=1)
        await stage.until(lambda: stage.host("p") == "n1")
        await stage.pod("q")
        await stage.until(lambda: stage.jobs("PENDING") != [])
        await stage.delete("q")
        await stage.until(lambda: not stage.there("q"))
        await stage.until(lambda: stage.jobs("CANCELLED") != [])

    play(story)


def test_who_cancels_the_job_of_a_waiting_pod_gets_rid_of_the_pod() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=1)
        await _bound(stage, "first")
        await stage.pod("p")
        await stage.until(lambda: stage.jobs("PENDING") != [])
        stage.slurm.cluster.finish(2, "CANCELLED")
        await stage.until(lambda: not stage.there("p"))

    assert play(story).calls("POST /job/submit") == 2


def test_a_pod_that_no_node_takes_is_not_submitted_and_is_told() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await stage.pod("p", spec={"nodeSelector": {"disk": "fast"}})
        await stage.until(lambda: stage.condition("p").get("reason") == "NoNodeFits")
        await stage.node("n2", labels={"disk": "fast"})
        await stage.until(lambda: bool(stage.jobs()))

    play(story)


def test_what_slurm_refuses_is_told_and_asked_for_again_later() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        stage.slurm.cluster.nodes["n1"].partitions = ["gone"]
        await stage.pod("p", annotations={f"{words.JOB_PREFIX}partition": "gone"})
        await stage.until(lambda: stage.condition("p").get("reason") == "SlurmRefused")
        await stage.until(lambda: stage.calls("POST /job/submit") == 3, within=60)

    play(story)


def test_a_bridge_that_may_not_submit_says_so_on_the_pod() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        stage.slurm.plain_users.add("it is me")
        await stage.pod("p")
        await stage.until(lambda: stage.condition("p").get("reason") == "SlurmRefused")

    play(story)


# --- when things go wrong ---------------------------------------------------------------------


def test_a_bridge_that_starts_again_finds_its_own_job() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=1)
        await _bound(stage, "first")
        await stage.pod("p")
        await stage.until(lambda: stage.jobs("PENDING") != [])
        await stage.restart()
        await stage.phase("first", "Succeeded")
        await stage.until(lambda: stage.jobs("CANCELLED") != [])
        stage.start(2)
        await stage.until(lambda: stage.host("p") == "n1")

    assert play(story).calls("POST /job/submit") == 2


def test_a_job_whose_pods_went_while_nobody_looked_is_ended() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=1)
        await _bound(stage, "first")
        await stage.pod("p")
        await stage.until(lambda: stage.jobs("PENDING") != [])
        await stage.stop()
        await stage.delete("p")
        await stage.restart()
        await stage.until(lambda: stage.jobs("CANCELLED") != [])
        assert len(stage.jobs("RUNNING")) == 1

    play(story)


def test_jobs_of_other_clusters_are_left_alone() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _bound(stage)
        job = stage.jobs()[0]
        other = stage.slurm.cluster.new_job()
        other.admin_comment = job.admin_comment.replace("blue", "green").replace('"p"', '"x"')
        stage.slurm.cluster.touch("jobs")
        with pytest.raises(AssertionError):
            await stage.until(lambda: stage.jobs("CANCELLED") != [], within=30)

    play(story)


def test_while_slurm_is_silent_nothing_is_done_to_pods() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _bound(stage)
        stage.slurm.cut = True
        await stage.pod("q")
        before = len(stage.writes())
        with pytest.raises(AssertionError):
            await stage.until(lambda: len(stage.writes()) > before, within=120)
        stage.slurm.cut = False
        await stage.until(lambda: stage.host("q") == "n1")

    assert play(story).calls("POST /job/submit") == 2


def test_a_submit_whose_answer_was_lost_is_not_sent_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = FakeSlurm.round_trip

    async def deaf(slurm: FakeSlurm, message: Message) -> Response:
        answer = await heard(slurm, message)
        if message.target.endswith("/job/submit"):
            raise errors.Unavailable("the connection broke", sent=True)
        return answer

    monkeypatch.setattr(FakeSlurm, "round_trip", deaf)

    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _bound(stage)

    assert play(story).calls("POST /job/submit") == 1


@pytest.mark.parametrize("verb", ["patch Pod", "create Pod/binding"])
def test_a_write_that_fails_is_made_up_for(verb: str) -> None:
    failures = [True, True]

    def before(request: Request[Any]) -> Unavailable | None:
        if " ".join(request.name) == verb and failures:
            failures.pop()
            return Unavailable("not now")
        return None

    async def story(stage: Stage) -> None:
        await stage.node("n1")
        stage.kube.before = before
        await _bound(stage)
        await stage.until(lambda: stage.kept("p"))

    assert play(story).calls("POST /job/submit") == 1
    assert not failures


def test_a_pod_on_a_node_that_is_no_more_lets_its_job_go() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await _bound(stage)
        await stage.phase("p", "Running")
        await stage.kube.send(requests.delete(kinds.NODE, Key("", "n1")))
        await stage.delete("p")
        await stage.until(lambda: stage.jobs("CANCELLED") != [])

    play(story)


def test_a_pod_whose_binding_is_not_heard_of_yet_keeps_others_from_its_node() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=2)
        stage.slurm.cluster.defers = True
        for name in ("one", "two"):
            await stage.pod(name, cpus=2)
        await stage.until(lambda: len(stage.jobs("PENDING")) == 2)
        await stage.until(lambda: all(stage.condition(name) for name in ("one", "two")))
        stage.late = 5.0
        stage.start(1)
        await stage.until(lambda: bool(stage.host("one") or stage.host("two")))
        stage.slurm.cluster.finish(1, "PREEMPTED")
        stage.start(2)
        with pytest.raises(AssertionError):
            await stage.until(lambda: bool(stage.host("one") and stage.host("two")), 4)

    play(story)
