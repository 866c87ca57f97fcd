from typing import Any

import pytest

from tests.unit.operator.workers.observed import node_set, pod
from tests.unit.operator.workers.phases.courses import course
from windlass.operator.workers.phases.scale import SOON, scale
from windlass.slurm.model import Job, Node
from windlass.values.states import JobState, NodeState

STATES = ("ALLOCATED", "IDLE", "MIXED", "IDLE")


@pytest.mark.parametrize(
    ("replicas", "leave", "if_idle"),
    [
        (4, set(), set()),
        (3, {"w-3"}, {"w-3"}),
        (2, {"w-1", "w-3"}, {"w-1", "w-3"}),
        (1, {"w-1", "w-2", "w-3"}, {"w-1", "w-3"}),
        (0, {"w-0", "w-1", "w-2", "w-3"}, set()),
    ],
)
def test_who_is_chosen_as_idle_is_named_unless_all_must_go(
    replicas: int, leave: set[str], if_idle: set[str]
) -> None:
    slurm = {
        f"w-{number}": Node(name=f"w-{number}", state=NodeState.parse(state))
        for number, state in enumerate(STATES)
    }
    pods = tuple(pod(number) for number in range(4))
    found = scale(course(node_set(replicas=replicas), pods=pods, slurm=slurm))

    assert (set(found.leave), set(found.if_idle)) == (leave, if_idle)


OURS = "slurm-operator: NodeSet (hpc/w) scales in"
RUNNING = JobState.parse("RUNNING")
SOONER = {"w-0": {"1": Job(id=1, state=RUNNING, nodes="w-0", ends_at=1_000)}}
LATER = {"w-1": {"2": Job(id=2, state=RUNNING, nodes="w-1", ends_at=2_000)}}

CASES: list[tuple[str, dict[str, Any], set[str]]] = [
    ("known", {"jobs": SOONER | LATER}, {"w-0"}),
    ("known, but others have come", {"jobs": SOONER | LATER, "unread": {"w-0"}}, {"w-0"}),
    ("those of one are not read yet", {"jobs": LATER, "unread": {"w-0"}}, set()),
    ("none is read yet", {"unread": {"w-0", "w-1"}}, set()),
    ("none was found where one should be", {"jobs": LATER}, {"w-1"}),
    ("not all read, and one was chosen", {"unread": {"w-0"}, "drained": "w-1"}, {"w-1"}),
]


@pytest.mark.parametrize(
    ("given", "leave"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_nobody_with_a_job_is_chosen_before_jobs_are_read(
    given: dict[str, Any], leave: set[str]
) -> None:
    drained = given.get("drained")
    known = {key: value for key, value in given.items() if key != "drained"}
    slurm = {
        name: Node(
            name=name,
            state=NodeState.parse("MIXED+DRAIN" if name == drained else "MIXED"),
            reason=OURS if name == drained else "",
        )
        for name in ("w-0", "w-1")
    }
    found = scale(course(node_set(replicas=1), pods=(pod(0), pod(1)), slurm=slurm, **known))

    assert (set(found.leave), found.again) == (leave, None if leave else SOON)
