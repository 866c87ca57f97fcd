import pytest

from tests.unit.operator.workers.observed import MINE, node_set, pod
from tests.unit.operator.workers.phases.courses import course, steps
from windlass.kube.meta import Meta
from windlass.operator.plan import ChangeNodes
from windlass.operator.workers.course import NOTHING, Outcome
from windlass.operator.workers.phases.belong import belong
from windlass.slurm.model import Node
from windlass.values.states import NodeState

OLD = MINE.replace("u-w", "u-before")
SIBLING = "namespace=hpc,nodeSetName=v,nodeSetUID=u-v"
SLINKY = '{"namespace":"hpc","podName":"w-0","node":"n","nodeSetName":"w","nodeSetUID":"u-w"}'
SET = node_set(replicas=3)


def node(number: int, extra: str, comment: str = "") -> Node:
    return Node(
        name=f"w-{number}", extra=extra, comment=comment, state=NodeState.parse("ALLOCATED")
    )


def told(found: Outcome) -> list[tuple[tuple[str, ...], str | None]]:
    return [(s.names, s.update.extra) for s in steps(found) if isinstance(s, ChangeNodes)]


@pytest.mark.parametrize(
    ("extra", "comment", "corrected"),
    [
        (MINE, "", False),
        ("", SLINKY, False),
        ("", "", True),
        ("", "fan is loud", True),
        (OLD, "", True),
        (OLD, SLINKY, True),
        (SIBLING, "", False),
        ("rack 7", "", False),
        ('{"rack": 7}', "", False),
    ],
)
def test_only_what_nobody_else_wrote_is_corrected(
    extra: str, comment: str, corrected: bool
) -> None:
    siblings = (SET.metadata, Meta(name="v", namespace="hpc", uid="u-v"))
    found = belong(
        course(SET, pods=(pod(0),), slurm={"w-0": node(0, extra, comment)}, siblings=siblings)
    )

    assert told(found) == ([(("w-0",), MINE)] if corrected else [])


def test_many_are_corrected_by_one_call() -> None:
    pods = tuple(pod(number) for number in range(3))
    known = {f"w-{number}": node(number, OLD if number else "") for number in range(3)}

    assert told(belong(course(SET, pods=pods, slurm=known))) == [(("w-0", "w-1", "w-2"), MINE)]


@pytest.mark.parametrize(
    ("since", "again"),
    [
        (["11:59:50"], 20.0),
        (["11:59:10", "11:59:50"], 20.0),
        (["11:59:10", "11:59:30"], None),
        (["11:50:00", "11:59:50"], None),
    ],
)
def test_those_that_come_up_together_are_named_together(
    since: list[str], again: float | None
) -> None:
    pods = tuple(pod(n, since=f"2026-07-01T{at}Z") for n, at in enumerate(since))
    known = {f"w-{number}": node(number, "") for number in range(len(since))}
    found = belong(course(SET, pods=pods, slurm=known))

    assert (found.again, bool(told(found))) == (again, again is None)


def test_nothing_is_said_of_workers_that_are_not_up_or_not_registered() -> None:
    pods = (pod(0, ready=False), pod(1), pod(2, going=True))
    known = {"w-0": node(0, ""), "w-2": node(2, "")}

    assert told(belong(course(SET, pods=pods, slurm=known))) == []


def test_nothing_is_said_while_slurm_is_silent() -> None:
    assert belong(course(SET, pods=(pod(0),), slurm=None)) == NOTHING
