from typing import Any

import pytest

from tests.unit.operator.workers.observed import node_set, pod
from tests.unit.operator.workers.phases.courses import course
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.course import NOTHING
from windlass.operator.workers.phases.scheduled import scheduled
from windlass.slurm.model import Node, Reservation
from windlass.values.states import NodeState

OWN = "SlurmOperatorMaint-w"
STRATEGY = {
    "type": "ScheduledUpdate",
    "scheduledUpdate": {"startTime": "2026-07-01T12:00:00Z"},
}
SET = node_set(replicas=2, updateStrategy=STRATEGY)
RESERVED = Reservation(name=OWN, nodes="w-[0-1]", starts_at=1_782_921_600)


def node(state: str, reservation: str = "") -> dict[str, Node]:
    return {"w-0": Node(name="w-0", state=NodeState.parse(state), reservation=reservation)}


@pytest.mark.parametrize(
    ("worker", "known", "leaves"),
    [
        (pod(0, SET, revision="old"), node("IDLE+MAINTENANCE+RESERVED", OWN), True),
        (pod(0, SET, revision="old"), node("ALLOCATED+MAINTENANCE+RESERVED", OWN), True),
        (pod(0, SET, revision="old"), node("IDLE+MAINTENANCE+RESERVED", "fans"), False),
        (pod(0, SET, revision="old"), node("IDLE+RESERVED", OWN), False),
        (pod(0, SET, revision="old"), node("IDLE"), False),
        (pod(0, SET, revision="old"), {}, False),
        (pod(0, SET, revision="old"), None, False),
        (pod(0, SET, revision="old", ready=False), node("IDLE"), True),
        (pod(0, SET, revision="old", ready=False), node("ALLOCATED"), False),
        (pod(0, SET), node("IDLE+MAINTENANCE+RESERVED", OWN), False),
        (pod(0, SET, revision="old", going=True), node("IDLE+MAINTENANCE", OWN), False),
    ],
)
def test_old_workers_leave_in_their_reservation(worker: Any, known: Any, leaves: bool) -> None:
    found = scheduled(course(SET, pods=(worker,), slurm=known))

    assert list(found.leave) == (["w-0"] if leaves else [])


def test_the_others_wait_for_it_by_name_and_time() -> None:
    known = Seen(node("IDLE"), {}, {OWN: RESERVED})
    found = scheduled(course(SET, pods=(pod(0, SET, revision="old"),), slurm=known))

    assert [each.sentence for each in found.waits] == [
        "1 workers have an old revision and are replaced in the reservation"
        " that begins at 2026-07-01 16:00 UTC"
    ]


def test_a_pause_keeps_them() -> None:
    paused = node_set(updateStrategy={**STRATEGY, "paused": True})
    found = scheduled(course(paused, pods=(pod(0, SET, revision="old"),), slurm=node("IDLE")))

    assert [each.code for each in found.waits] == ["UpdatePaused"]
    assert not found.leave


@pytest.mark.parametrize("type_", ["RollingUpdate", "OnDelete"])
def test_other_strategies_are_not_its_business(type_: str) -> None:
    other = node_set(updateStrategy={"type": type_})
    known = node("IDLE+MAINTENANCE+RESERVED", OWN)

    assert scheduled(course(other, pods=(pod(0, revision="old"),), slurm=known)) == NOTHING
