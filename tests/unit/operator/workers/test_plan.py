from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.operator.workers.observed import NOW, membership, node_set, observed, pod, slurm
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import CONFIG_MAP, PERSISTENT_VOLUME_CLAIM, POD
from windlass.kube.objects import Pod
from windlass.operator.plan import (
    Annotate,
    Apply,
    ChangeNodes,
    Create,
    Delete,
    Plan,
    Retire,
    Tell,
)
from windlass.operator.site import Site
from windlass.operator.workers.plan import plan
from windlass.slurm.model import Job
from windlass.values.states import JobState


def made(done: Plan) -> list[str]:
    return [
        action.body["metadata"]["name"]
        for action in done.steps
        if isinstance(action, Create) and action.kind == POD
    ]


def removed(done: Plan) -> list[str]:
    """Those deleted at once, and those deleted if Slurm agrees."""
    found = [action.key.name for action in done.steps if isinstance(action, Delete)]
    return found + [pod.key.name for step in _retired(done) for pod in step.pods]


def _retired(done: Plan) -> list[Retire]:
    return [step for step in done.steps if isinstance(step, Retire)]


def drained(done: Plan) -> dict[str, list[str]]:
    """By the state asked for, the names of Slurm nodes."""
    found: dict[str, list[str]] = {}
    for step in done.steps:
        if isinstance(step, ChangeNodes):
            found.setdefault(str(step.update.state), []).extend(step.names)
    return found


def told(done: Plan) -> list[str]:
    return [action.reason.code for action in done.steps if isinstance(action, Tell)]


def said(done: Plan) -> dict[str, tuple[str, str]]:
    assert done.status is not None
    return {each["type"]: (each["status"], each["reason"]) for each in done.status["conditions"]}


def message(done: Plan, kind: str) -> str:
    assert done.status is not None
    (found,) = [each["message"] for each in done.status["conditions"] if each["type"] == kind]
    assert isinstance(found, str)
    return found


def with_conditions(worker: Pod, *names: str) -> Pod:
    body = msgspec.to_builtins(worker)
    shown = ({"type": f"SlurmNodeState{name}", "status": "True"} for name in names)
    body["status"]["conditions"] += shown
    return msgspec.convert(body, Pod)


def after(done: Plan, **spec: Any) -> NodeSet:
    """The NodeSet as the next pass finds it."""
    return node_set(status=msgspec.to_builtins(done.status), **spec)


# --- making -----------------------------------------------------------------------------------


def test_all_missing_workers_are_made_at_once_by_their_names() -> None:
    done = plan(observed(node_set(replicas=3), pods=(pod(1),)), NOW)

    assert made(done) == ["w-0", "w-2"]
    assert told(done) == ["ScalingUp", "BestEffortWorkers"]
    assert said(done)["Progressing"] == ("True", "ScalingOut")


def test_workers_are_made_while_slurm_is_silent() -> None:
    assert made(plan(observed(node_set(replicas=2), slurm=None), NOW)) == ["w-0", "w-1"]


def test_so_many_workers_start_at_a_time_and_those_without_a_node_do_not_count() -> None:
    few = Site(starting_workers=3)
    done = plan(observed(node_set(replicas=10), site=few), NOW)
    assert made(done) == ["w-0", "w-1", "w-2"]
    assert message(done, "Progressing") == "10 of 10 workers are being made"

    pods = (pod(0, ready=False), pod(1, node=""), pod(2, ready=False), pod(3, ready=False))
    full = plan(observed(node_set(replicas=10), pods=pods, site=few), NOW)
    assert made(full) == []
    assert said(full)["Progressing"] == ("True", "StartingThrottled")


def test_a_claim_is_made_before_its_pod() -> None:
    templates = [{"metadata": {"name": "scratch"}, "spec": {}}]
    done = plan(observed(node_set(volumeClaimTemplates=templates)), NOW)

    kinds = [action.kind for action in done.steps if isinstance(action, Create)]
    assert kinds == [PERSISTENT_VOLUME_CLAIM, POD]


def test_a_name_that_another_has_is_waited_for_and_the_rest_is_made() -> None:
    done = plan(observed(node_set(replicas=2), strangers=frozenset({"w-0"})), NOW)

    assert made(done) == ["w-1"]
    later = plan(observed(node_set(replicas=2), pods=(pod(1),), strangers=frozenset({"w-0"})), NOW)
    assert said(later)["Degraded"] == ("True", "NameTaken")
    assert said(later)["Ready"] == ("False", "NameTaken")


def test_a_worker_that_ended_is_removed_and_made_anew_when_it_is_gone() -> None:
    ended = plan(observed(node_set(replicas=1), pods=(pod(0, phase="Failed"),)), NOW)

    assert removed(ended) == ["w-0"]
    assert made(ended) == []
    assert made(plan(observed(node_set(replicas=1)), NOW)) == ["w-0"]


# --- removing ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pods", "states", "expected"),
    [
        ((pod(0), pod(1, node="")), None, ["w-1"]),
        ((pod(0, node=""), pod(1)), None, ["w-0"]),
        ((pod(0), pod(1)), None, []),
        ((pod(0), pod(1)), slurm(w_0="IDLE", w_1="IDLE+DRAIN"), ["w-1"]),
        ((pod(0), pod(1)), slurm(w_0="IDLE+DRAIN", w_1="MIXED+DRAIN"), ["w-0"]),
        ((pod(0), pod(1)), slurm(w_0="IDLE", w_1="IDLE"), []),
        ((pod(0), pod(1)), slurm(w_0="MIXED", w_1="IDLE+DRAIN+COMPLETING"), []),
        ((pod(0), pod(1)), slurm(w_0="IDLE", w_1="DOWN+DRAIN"), ["w-1"]),
        ((pod(0), pod(1)), slurm(w_0="IDLE", w_1="DOWN+DRAIN+COMPLETING"), []),
        ((pod(0), pod(1)), slurm(w_0="IDLE", w_1="UNKNOWN+DRAIN"), []),
        ((pod(0), pod(1)), slurm(w_0="IDLE", w_1="IDLE+DRAIN+UNDRAIN"), []),
        ((pod(0), pod(1)), slurm(w_0="IDLE"), ["w-1"]),
        ((pod(0), pod(1), pod(2, going=True)), slurm(w_0="IDLE+DRAIN", w_1="IDLE"), ["w-0"]),
        ((pod(0), pod(1, going=True)), slurm(w_0="IDLE+DRAIN"), []),
        ((pod(0), pod(1, phase="Failed")), slurm(w_0="IDLE+DRAIN"), ["w-1"]),
    ],
    ids=[
        "on no node yet",
        "on no node yet, though its number is low",
        "Slurm is silent",
        "drained and idle",
        "the one that is drained and idle",
        "idle but not drained",
        "still completing",
        "down",
        "down, and its jobs are being cleaned up",
        "Slurm does not know it yet",
        "being given back",
        "not registered",
        "one more than the one that goes",
        "one goes already",
        "one has ended",
    ],
)
def test_a_worker_too_many_goes_only_when_no_job_can_be_in_it(
    pods: tuple[Pod, ...], states: Any, expected: list[str]
) -> None:
    assert removed(plan(observed(node_set(replicas=1), pods=pods, slurm=states), NOW)) == expected


def test_a_scale_in_drains_waits_and_says_for_whom() -> None:
    pods = (pod(0), pod(1), pod(2))
    busy = slurm(w_0="IDLE", w_1="IDLE", w_2="MIXED")
    ends = int(NOW.timestamp()) + 3600
    held = {"w-2": {"7": Job(id=7, ends_at=ends), "8": Job(id=8, ends_at=ends - 60)}}
    of = node_set(replicas=0)
    done = plan(observed(of, pods=pods, slurm=busy, jobs=held), NOW)

    assert drained(done) == {"DRAIN": ["w-0", "w-1", "w-2"]}
    assert removed(done) == []
    assert said(done)["Progressing"] == ("True", "Draining")
    assert message(done, "Progressing") == (
        "3 of 3 workers draining: w-0 is IDLE; w-1 is IDLE; "
        "w-2 runs 2 jobs, the last ends by 2026-07-01 13:00 UTC"
    )
    assert "Draining" in told(done)
    known = after(done, replicas=0)
    assert told(plan(observed(known, pods=pods, slurm=busy, jobs=held), NOW)) == []


def test_while_slurm_is_silent_nobody_is_drained_or_removed() -> None:
    done = plan(observed(node_set(replicas=1), pods=(pod(0), pod(1, revision="old"))), NOW)

    assert drained(done) == {}
    assert removed(done) == []
    assert message(done, "Progressing") == (
        "1 workers that should go (w-1) stay, since Slurm does not answer; "
        "it is asked through the RestApi of Controller slurm"
    )


def test_a_pod_on_no_node_goes_only_as_it_was_seen_and_others_only_if_slurm_agrees() -> None:
    drained_idle = slurm(w_1="IDLE+DRAIN")
    pods = (pod(0, node=""), pod(1))
    done = plan(observed(node_set(replicas=0), pods=pods, slurm=drained_idle), NOW)

    versions = {a.key.name: (a.uid, a.version) for a in done.steps if isinstance(a, Delete)}
    assert versions == {"w-0": ("u-0", "10")}
    (retired,) = _retired(done)
    assert [(each.key.name, each.uid, each.node) for each in retired.pods] == [
        ("w-1", "u-1", "w-1")
    ]


def test_a_worker_whose_only_job_is_suspended_stays_though_slurm_calls_it_idle() -> None:
    asleep = {"w-0": {"7": Job(id=7, state=JobState.parse("SUSPENDED"))}}
    of = node_set(replicas=0)
    done = plan(observed(of, pods=(pod(0),), slurm=slurm(w_0="IDLE+DRAIN"), jobs=asleep), NOW)

    assert removed(done) == []


def test_a_new_key_is_brought_into_workers_that_run_and_restarts_none() -> None:
    pods = (pod(0), pod(1, node=""), pod(2, going=True))
    renewed = membership({"slurm.key": "bmV3"})
    done = plan(observed(node_set(replicas=3), pods=pods, membership=renewed), NOW)

    assert removed(done) == []
    told_of = [action.key.name for action in done.steps if isinstance(action, Annotate)]
    assert told_of == ["w-0"]
    settled = plan(observed(node_set(replicas=3), pods=pods), NOW)
    assert not [action for action in settled.steps if isinstance(action, Annotate)]


def test_a_pod_older_than_slurm_conf_is_told_once_with_which_settings_it_runs() -> None:
    pods = (pod(0), pod(1, annotations={"slinky.slurm.net/slurm-config-hash": "c"}))
    done = plan(observed(node_set(replicas=2), pods=pods, start_conf="c"), NOW)

    marked = [(a.key.name, a.annotations) for a in done.steps if isinstance(a, Annotate)]
    assert marked == [("w-0", {"slinky.slurm.net/slurm-config-hash": "c"})]


# --- updates ----------------------------------------------------------------------------------


def test_on_delete_leaves_old_workers_to_the_user() -> None:
    on_delete = node_set(replicas=1, updateStrategy={"type": "OnDelete"})
    pods = (pod(0, revision="old"),)
    done = plan(observed(on_delete, pods=pods, slurm=slurm(w_0="IDLE+DRAIN")), NOW)

    assert removed(done) == []
    assert said(done)["Progressing"] == ("False", "Settled")


# --- refusals ---------------------------------------------------------------------------------

MINE = {"name": "mine", "key": "slurm.key"}


def test_workers_wait_quietly_for_a_key_that_the_operator_makes() -> None:
    done = plan(observed(membership=membership({})), NOW)

    assert made(done) == told(done) == []
    assert said(done)["Progressing"] == ("True", "KeyMissing")
    assert said(done)["Degraded"][0] == "False"


@pytest.mark.parametrize(
    ("spec", "more", "reason"),
    [
        ({}, {"membership": None}, "ControllerMissing"),
        ({"template": {"spec": {"nodeSelector": {"gpu": True}}}}, {}, "SpecInvalid"),
        ({}, {"membership": membership({}, slurmKeyRef=MINE)}, "KeyMissing"),
        ({"extraConf": "Weight"}, {}, "SpecInvalid"),
        ({"slurmd": {"resources": {"limits": {"memory": "1 GB"}}}}, {}, "SpecInvalid"),
        (
            {"ssh": {"enabled": True, "sssdConfRef": {"name": "s", "key": "k"}}},
            {},
            "SssdConfMissing",
        ),
    ],
)
def test_a_refusal_is_told_once_and_touches_no_pod(
    spec: dict[str, Any], more: dict[str, Any], reason: str
) -> None:
    pods = (pod(7, revision="old", node=""), pod(8, phase="Failed"))
    done = plan(observed(node_set(replicas=5, **spec), pods=pods, **more), NOW)

    assert made(done) == removed(done) == []
    assert said(done)["Ready"] == ("False", reason)
    assert said(done)["Degraded"] == ("True", reason)
    event = "ControllerRefFailed" if reason == "ControllerMissing" else reason
    assert told(done) == [event]
    again = plan(observed(after(done, replicas=5, **spec), pods=pods, **more), NOW)
    assert told(again) == []


def test_a_controller_of_another_namespace_cannot_be_joined() -> None:
    elsewhere = node_set(controllerRef={"name": "slurm", "namespace": "other"})
    done = plan(observed(elsewhere, membership=None), NOW)

    assert "Controller slurm is in namespace other" in message(done, "Ready")


# --- what is said -----------------------------------------------------------------------------


def test_best_effort_workers_are_warned_of_once_a_revision() -> None:
    done = plan(observed(node_set(replicas=1)), NOW)
    assert "BestEffortWorkers" in told(done)
    assert said(done)["Degraded"] == ("False", "BestEffortWorkers")

    again = plan(observed(after(done, replicas=1), pods=(pod(0),)), NOW)
    assert told(again) == []
    changed = plan(observed(after(done, replicas=1, extraConf="Weight=1"), pods=(pod(0),)), NOW)
    assert "BestEffortWorkers" in told(changed)


def test_the_warning_comes_after_a_refusal_too() -> None:
    refused = plan(observed(node_set(), membership=None), NOW)

    assert "BestEffortWorkers" in told(plan(observed(after(refused)), NOW))


def test_workers_with_limits_are_not_warned_of() -> None:
    limited = node_set(slurmd={"resources": {"limits": {"memory": "1Gi"}}})
    done = plan(observed(limited), NOW)

    assert told(done) == ["ScalingUp"]
    assert said(done)["Degraded"] == ("False", "AsWanted")


def test_status_counts_pods_and_slurm_nodes() -> None:
    of = node_set(replicas=4, minReadySeconds=60)
    recent = (NOW - timedelta(seconds=20)).isoformat()
    pods = (
        pod(0, of),
        pod(1, of, since=recent),
        pod(2, of, ready=False),
        pod(3, of, revision="old", annotations={}),
    )
    states = slurm(w_0="IDLE", w_1="MIXED+DRAIN", w_2="DOWN", other_0="IDLE")
    done = plan(observed(of, pods=pods, slurm=states), NOW)

    assert done.status is not None
    counts = {name: value for name, value in done.status.items() if isinstance(value, int)}
    assert counts == {
        "replicas": 4,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 2,
        "unavailableReplicas": 2,
        "desired": 4,
        "slurmIdle": 1,
        "slurmAllocated": 1,
        "slurmDown": 1,
        "slurmDrain": 1,
        "observedGeneration": 3,
    }
    assert done.status["selector"] == "app.kubernetes.io/name=slurmd,app.kubernetes.io/instance=w"
    assert done.again == 40.0


def test_a_settled_set_does_nothing_but_keep_what_is_shared() -> None:
    first = plan(observed(node_set(replicas=1)), NOW)
    shows_idle = with_conditions(pod(0), "Idle")
    knows = slurm(w_0="IDLE")
    done = plan(observed(after(first, replicas=1), pods=(shows_idle,), slurm=knows), NOW)

    assert [type(action) for action in done.steps] == [Apply, Apply]
    assert said(done) == {
        "Ready": ("True", "Counted"),
        "Available": ("True", "Counted"),
        "Progressing": ("False", "Settled"),
        "Degraded": ("False", "BestEffortWorkers"),
        "Registered": ("True", "Registered"),
    }
    assert done.again is None


def test_workers_that_cannot_start_make_the_set_degraded() -> None:
    waiting = {"name": "slurmd", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    done = plan(observed(node_set(), pods=(pod(0, ready=False, containers=[waiting]),)), NOW)

    assert said(done)["Degraded"] == ("True", "WorkersFailing")
    assert "w-0: ImageMissing: slurmd: ImagePullBackOff" in message(done, "Degraded")


def test_a_key_that_slurm_may_not_know_is_told_and_workers_are_made_all_the_same() -> None:
    done = plan(observed(node_set(extraConf="Wieght=3")), NOW)

    assert made(done) == ["w-0"]
    assert said(done)["Degraded"] == ("True", "ExtraConfDoubtful")
    assert "Wieght: Slurm knows no such key here; did you mean Weight?" in message(done, "Degraded")
    assert "ExtraConfDoubtful" in told(done)
    again = plan(observed(after(done, extraConf="Wieght=3")), NOW)
    assert "ExtraConfDoubtful" not in told(again)


def test_ssh_brings_its_configuration() -> None:
    done = plan(observed(node_set(ssh={"enabled": True, "extraSshdConfig": "UsePAM no"})), NOW)

    (config,) = [a.body for a in done.steps if isinstance(a, Apply) and a.kind == CONFIG_MAP]
    assert config["metadata"]["name"] == "w-ssh-config"
    assert "UsePAM no" in config["data"]["sshd_config"]
    assert "UsePAM yes" not in config["data"]["sshd_config"]
