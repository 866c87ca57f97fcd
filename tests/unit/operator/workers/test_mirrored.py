"""Slurm's states as conditions and as protection of pods, by tables."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.operator.workers.observed import NOW, node_set, observed, pod
from windlass.api import labels
from windlass.kube.objects import Pod
from windlass.operator.plan import Mark, Plan, ShowConditions
from windlass.operator.workers.phases.show import types
from windlass.operator.workers.plan import plan
from windlass.slurm.model import Node
from windlass.values.states import NODE_BASES, NodeState

STATES = [
    ("ALLOCATED", ["Allocated"]),
    ("DOWN", ["Down"]),
    ("ERROR", ["Error"]),
    ("FUTURE", ["Future"]),
    ("IDLE", ["Idle"]),
    ("MIXED", ["Mixed"]),
    ("UNKNOWN", ["Unknown"]),
    ("IDLE+COMPLETING", ["Idle", "Completing"]),
    ("IDLE+DRAIN", ["Idle", "Drain"]),
    ("IDLE+FAIL", ["Idle", "Fail"]),
    ("IDLE+INVALID", ["Idle", "Invalid"]),
    ("IDLE+INVALID_REG", ["Idle", "InvalidReg"]),
    ("IDLE+MAINTENANCE", ["Idle", "Maintenance"]),
    ("IDLE+NOT_RESPONDING", ["Idle", "NotResponding"]),
    ("IDLE+UNDRAIN", ["Idle", "Undrain"]),
    ("DOWN+DRAIN+NOT_RESPONDING", ["Down", "Drain", "NotResponding"]),
    ("MIXED+PLANNED+RESERVED+DYNAMIC_NORM", ["Mixed"]),
    ("POWERED_DOWN", ["Unknown"]),
]


@pytest.mark.parametrize(("state", "names"), STATES)
def test_a_state_is_its_base_and_the_flags_that_people_know(state: str, names: list[str]) -> None:
    assert types(NodeState.parse(state.split("+"))) == [f"SlurmNodeState{name}" for name in names]


def test_every_base_has_a_condition() -> None:
    assert all(types(NodeState(base, frozenset())) for base in NODE_BASES)


# --- conditions -------------------------------------------------------------------------------


def says(state: str, reason: str = "") -> dict[str, Node]:
    return {"w-0": Node(name="w-0", state=NodeState.parse(state), reason=reason)}


def nodes(*states: str) -> dict[str, Node]:
    """Of w-0, w-1 and so on."""
    named = ((f"w-{place}", state) for place, state in enumerate(states))
    return {name: Node(name=name, state=NodeState.parse(state)) for name, state in named}


def labelled(worker: Pod, **more: str) -> Pod:
    known = {**(worker.metadata.labels or {}), **more}
    metadata = msgspec.structs.replace(worker.metadata, labels=known)
    return msgspec.structs.replace(worker, metadata=metadata)


def with_conditions(worker: Pod, *shown: dict[str, Any]) -> Pod:
    body = msgspec.to_builtins(worker)
    body["status"]["conditions"] += shown
    return msgspec.convert(body, Pod)


def done(worker: Pod, slurm: dict[str, Node] | None, **spec: Any) -> Plan:
    return plan(observed(node_set(replicas=1, **spec), pods=(worker,), slurm=slurm), NOW)


def shown(passed: Plan) -> list[ShowConditions]:
    return [each for each in passed.steps if isinstance(each, ShowConditions)]


def marked(passed: Plan) -> list[str | None]:
    found = [each.labels for each in passed.steps if isinstance(each, Mark)]
    assert all(set(each) == {labels.POD_PROTECT} for each in found)
    return [each[labels.POD_PROTECT] for each in found]


def test_a_pod_shows_the_state_of_its_node_with_the_reason() -> None:
    (action,) = shown(done(pod(0), says("MIXED+DRAIN", "disk is full")))

    assert (action.key.name, action.uid, action.prefix) == ("w-0", "u-0", "SlurmNodeState")
    assert list(action.conditions) == [
        {
            "type": f"SlurmNodeState{name}",
            "status": "True",
            "message": "disk is full",
            "lastTransitionTime": "2026-07-01T12:00:00Z",
        }
        for name in ("Mixed", "Drain")
    ]


def condition(name: str, message: str = "", status: str = "True") -> dict[str, Any]:
    return {
        "type": f"SlurmNodeState{name}",
        "status": status,
        "message": message,
        "lastTransitionTime": "2026-07-01T09:00:00Z",
    }


def test_nothing_is_written_where_the_pod_shows_it() -> None:
    told = with_conditions(pod(0), condition("Idle", "why"), condition("Drain", "why"))

    assert shown(done(told, says("IDLE+DRAIN", "why"))) == []


CHANGES = [
    ("another flag", [condition("Idle")], "IDLE+DRAIN", {"Idle": "09:00", "Drain": "12:00"}),
    ("another base", [condition("Idle")], "MIXED", {"Mixed": "12:00"}),
    ("one flag less", [condition("Idle"), condition("Drain")], "IDLE", {"Idle": "09:00"}),
    ("another reason", [condition("Idle", "old")], "IDLE", {"Idle": "09:00"}),
    ("false, by another hand", [condition("Idle", status="False")], "IDLE", {"Idle": "12:00"}),
]


@pytest.mark.parametrize(
    ("before", "state", "since"), [each[1:] for each in CHANGES], ids=[each[0] for each in CHANGES]
)
def test_what_differs_is_written_and_what_stays_keeps_its_time(
    before: list[dict[str, Any]], state: str, since: dict[str, str]
) -> None:
    (action,) = shown(done(with_conditions(pod(0), *before), says(state)))

    times = {each["type"]: each["lastTransitionTime"] for each in action.conditions}
    assert times == {
        f"SlurmNodeState{name}": f"2026-07-01T{time}:00Z" for name, time in since.items()
    }


def test_of_a_node_that_slurm_does_not_have_nothing_is_shown() -> None:
    (action,) = shown(done(with_conditions(pod(0), condition("Idle")), {}))

    assert action.conditions == ()
    assert shown(done(pod(0), {})) == []


@pytest.mark.parametrize(
    "worker",
    [pod(0, node=""), pod(0, going=True), pod(0, phase="Failed")],
    ids=["on no node yet", "being deleted", "ended"],
)
def test_the_state_of_a_namesake_is_not_shown(worker: Pod) -> None:
    assert shown(done(worker, says("IDLE"))) == []


def test_a_silent_slurm_changes_nothing() -> None:
    told = with_conditions(labelled(pod(0), **{labels.POD_PROTECT: "true"}), condition("Mixed"))
    passed = done(told, None)

    assert (shown(passed), marked(passed)) == ([], [])


# --- protection -------------------------------------------------------------------------------

KEPT = "kept"
PROTECTION = [
    ("ALLOCATED", True),
    ("MIXED", True),
    ("MIXED+DRAIN", True),
    ("IDLE+COMPLETING", True),
    ("DOWN+COMPLETING", True),
    ("UNKNOWN+COMPLETING", True),
    ("IDLE", False),
    ("IDLE+DRAIN", False),
    ("DOWN", False),
    ("DOWN+NOT_RESPONDING", False),
    ("UNKNOWN", KEPT),
    ("UNKNOWN+DRAIN", KEPT),
    ("absent", KEPT),
    ("silent", KEPT),
]


@pytest.mark.parametrize(("state", "protects"), PROTECTION)
def test_a_busy_worker_is_protected_until_slurm_says_that_it_is_not_busy(
    state: str, protects: bool | str
) -> None:
    slurm = {"silent": None, "absent": {}}.get(state, says(state))
    free, protected = pod(0), labelled(pod(0), **{labels.POD_PROTECT: "true"})

    assert marked(done(free, slurm)) == (["true"] if protects is True else [])
    assert marked(done(protected, slurm)) == ([None] if protects is False else [])


@pytest.mark.parametrize("state", [says("MIXED"), says("IDLE"), None])
def test_where_protection_is_off_the_label_goes(state: dict[str, Node] | None) -> None:
    protected = labelled(pod(0), **{labels.POD_PROTECT: "true"})
    off = {"workloadDisruptionProtection": False}

    assert marked(done(protected, state, **off)) == [None]
    assert marked(done(pod(0), state, **off)) == []


def test_protection_comes_before_everything_else() -> None:
    workers = (pod(0), pod(1))
    slurm = nodes("MIXED", "MIXED")
    passed = plan(observed(node_set(replicas=3), pods=workers, slurm=slurm), NOW)

    assert [type(each) for each in passed.steps][:2] == [Mark, Mark]


# --- calm -------------------------------------------------------------------------------------


def since(worker: Pod, name: str, seconds: float) -> Pod:
    moment = (NOW - timedelta(seconds=seconds)).isoformat()
    return with_conditions(worker, {**condition(name), "lastTransitionTime": moment})


@pytest.mark.parametrize(
    ("before", "state", "seconds", "written"),
    [
        ("Idle", "MIXED", 2, False),
        ("Idle", "MIXED", 6, True),
        ("Mixed", "IDLE", 2, False),
        ("Mixed", "IDLE+COMPLETING", 2, False),
        ("Idle", "IDLE+DRAIN", 2, True),
        ("Idle", "DOWN", 2, True),
    ],
)
def test_jobs_that_come_and_go_are_shown_calmly_and_all_else_at_once(
    before: str, state: str, seconds: float, written: bool
) -> None:
    passed = done(since(pod(0), before, seconds), says(state))

    assert bool(shown(passed)) == written
    assert (passed.again == pytest.approx(5 - seconds)) == (not written)


def test_protection_comes_at_once_and_goes_when_it_is_calm() -> None:
    free, busy = since(pod(0), "Idle", 1), since(pod(0), "Mixed", 1)
    label = {labels.POD_PROTECT: "true"}

    assert marked(done(free, says("MIXED"))) == ["true"]
    assert marked(done(labelled(busy, **label), says("IDLE"))) == []
    assert marked(done(labelled(since(pod(0), "Idle", 6), **label), says("IDLE"))) == [None]


def test_nothing_is_shown_on_a_worker_that_leaves_without_a_job() -> None:
    of = node_set(replicas=0)
    idle = plan(observed(of, pods=(pod(0),), slurm=says("IDLE+DRAIN")), NOW)
    busy = plan(observed(of, pods=(pod(0),), slurm=says("MIXED+DRAIN")), NOW)

    assert shown(idle) == []
    assert len(shown(busy)) == 1


# --- counts -----------------------------------------------------------------------------------


def test_the_status_counts_what_slurm_says() -> None:
    states = ["IDLE", "IDLE+DRAIN", "ALLOCATED", "MIXED+DRAIN", "DOWN", "UNKNOWN"]
    workers = tuple(pod(ordinal) for ordinal in range(len(states)))
    passed = plan(observed(node_set(replicas=6), pods=workers, slurm=nodes(*states)), NOW)

    assert passed.status is not None
    counted = ("slurmIdle", "slurmAllocated", "slurmDown", "slurmDrain")
    assert [passed.status[name] for name in counted] == [2, 2, 1, 2]
