from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.unit.operator.workers.observed import node_set, pod
from tests.unit.operator.workers.phases.courses import changes, course, draining, leaving, steps
from windlass.kube.objects import Pod
from windlass.operator.plan import ChangeNodes
from windlass.operator.workers.course import NOTHING, Outcome
from windlass.operator.workers.phases.drain import AGAIN, drain
from windlass.slurm.model import Node
from windlass.values.states import NodeState

OURS = "slurm-operator: disk"
PRE_STOP = "slurm-operator: Pod is terminating"
STARTED = 1_782_900_000  # 2026-07-01T10:00:00Z


def node(state: str, reason: str = "", **more: Any) -> dict[str, Node]:
    return {"w-0": Node(name="w-0", state=NodeState.parse(state), reason=reason, **more)}


def started(worker: Pod) -> Pod:
    body = msgspec.to_builtins(worker)
    body["status"]["startTime"] = "2026-07-01T10:00:00Z"
    return msgspec.convert(body, Pod)


WANTED = draining(w_0="disk")
DRAIN = [("DRAIN", OURS, ["w-0"])]
UNDRAIN = [("UNDRAIN", None, ["w-0"])]
RESUME = [("RESUME", None, ["w-0"])]

CASES: list[tuple[str, dict[str, Node] | None, Outcome, list[Any]]] = [
    ("idle, and wanted drained", node("IDLE"), WANTED, DRAIN),
    ("busy, and wanted drained", node("ALLOCATED"), WANTED, DRAIN),
    ("drained so already", node("IDLE+DRAIN", OURS), WANTED, []),
    ("drained by us for another cause", node("MIXED+DRAIN", "slurm-operator: x"), WANTED, DRAIN),
    ("drained by an administrator", node("IDLE+DRAIN", "fan"), WANTED, []),
    ("drained by somebody without a word", node("IDLE+DRAIN"), WANTED, []),
    ("down by an administrator", node("DOWN", "fan"), WANTED, []),
    ("down without a word", node("DOWN"), WANTED, []),
    ("up, with an administrator's reason", node("IDLE", "watch this one"), WANTED, []),
    ("not registered", {}, WANTED, []),
    ("Slurm is silent", None, WANTED, []),
    ("drained by us, without a cause any more", node("IDLE+DRAIN", OURS), NOTHING, UNDRAIN),
    ("draining by us, without a cause any more", node("MIXED+DRAIN", OURS), NOTHING, UNDRAIN),
    ("given back already", node("MIXED+DRAIN+UNDRAIN", OURS), NOTHING, []),
    ("an administrator's drain", node("IDLE+DRAIN", "fan"), NOTHING, []),
    ("a drain without a word", node("IDLE+DRAIN"), NOTHING, []),
    ("down and drained by us", node("DOWN+DRAIN", OURS), NOTHING, []),
    (
        "down and drained by us, and back",
        node("DOWN+DRAIN", OURS, slurmd_started_at=STARTED + 5),
        NOTHING,
        RESUME,
    ),
    (
        "down and drained by an administrator, and back",
        node("DOWN+DRAIN", "fan", slurmd_started_at=STARTED + 5),
        NOTHING,
        [],
    ),
    (
        "down by our own pod, which is back",
        node("DOWN", PRE_STOP, slurmd_started_at=STARTED + 5),
        NOTHING,
        RESUME,
    ),
    (
        "down by our own pod, and not registered since",
        node("DOWN", PRE_STOP, slurmd_started_at=STARTED - 500),
        NOTHING,
        [],
    ),
    (
        "down by our own pod, and silent",
        node("DOWN+NOT_RESPONDING", PRE_STOP, slurmd_started_at=STARTED + 5),
        NOTHING,
        [],
    ),
    (
        "down by an administrator, and registered",
        node("DOWN", "fan", slurmd_started_at=STARTED + 5),
        NOTHING,
        [],
    ),
    ("idle, and nothing wanted", node("IDLE"), NOTHING, []),
    ("leaving, for the set", node("IDLE"), leaving("w-0"), [("DRAIN", "", ["w-0"])]),
]


@pytest.mark.parametrize(
    ("slurm", "found", "expected"),
    [each[1:] for each in CASES],
    ids=[each[0] for each in CASES],
)
def test_only_what_is_ours_is_drained_and_given_back(
    slurm: dict[str, Node] | None, found: Outcome, expected: list[Any]
) -> None:
    done = changes(drain(course(found=found, pods=(started(pod(0)),), slurm=slurm)))

    if found.leave:
        expected = [("DRAIN", "slurm-operator: NodeSet (hpc/w) scales in", ["w-0"])]
    assert done == expected


def test_many_are_drained_by_one_call() -> None:
    pods = tuple(pod(ordinal) for ordinal in range(4))
    slurm = {f"w-{n}": Node(name=f"w-{n}", state=NodeState.parse("IDLE")) for n in range(4)}
    found = drain(course(node_set(replicas=4), leaving("w-1", "w-3"), pods=pods, slurm=slurm))

    assert [names for _, _, names in changes(found)] == [["w-1", "w-3"]]


def test_who_was_chosen_as_idle_is_drained_by_a_call_of_its_own_and_chosen_anew_if_a_job_came() -> (
    None
):
    pods = tuple(pod(ordinal) for ordinal in range(3))
    slurm = {f"w-{n}": Node(name=f"w-{n}", state=NodeState.parse("IDLE")) for n in range(3)}
    chosen = replace(leaving("w-0", "w-1", "w-2"), if_idle=frozenset({"w-0", "w-2"}))
    found = drain(course(node_set(replicas=3), chosen, pods=pods, slurm=slurm))

    calls = [(each.names, each.if_idle) for each in steps(found) if isinstance(each, ChangeNodes)]
    assert calls == [(("w-0", "w-2"), True), (("w-1",), False)]
    assert found.again == AGAIN


def test_a_reason_of_others_is_waited_for_by_name() -> None:
    found = drain(course(found=WANTED, pods=(pod(0),), slurm=node("IDLE", "watch this one")))

    (wait,) = found.waits
    assert wait.code == "ReasonOfOthers"
    assert "'watch this one'" in wait.sentence


@pytest.mark.parametrize("gone", [{"going": True}, {"phase": "Failed"}])
def test_whoever_is_on_the_way_out_is_left_alone(gone: dict[str, Any]) -> None:
    assert changes(drain(course(pods=(pod(0, **gone),), slurm=node("IDLE+DRAIN", OURS)))) == []
