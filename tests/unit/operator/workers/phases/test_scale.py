import pytest

from tests.unit.operator.workers.observed import node_set, pod
from tests.unit.operator.workers.phases.courses import course
from windlass.operator.workers.phases.scale import scale
from windlass.slurm.model import Node
from windlass.values.states import NodeState

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
