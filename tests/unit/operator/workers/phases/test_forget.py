from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.observed import MINE, node_set, pod
from tests.unit.operator.workers.phases.courses import course, host, hosts, steps
from windlass.api import labels
from windlass.operator.plan import ForgetNodes
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.course import Outcome
from windlass.operator.workers.phases.forget import AGAIN, forget
from windlass.slurm.model import Job, Node, Reservation
from windlass.values.states import JobState, NodeState

PRE_STOP = "slurm-operator: Pod is terminating"
SCALE_IN = "slurm-operator: NodeSet (hpc/w) scales in"
ONE = node_set(replicas=1)


def node(name: str, state: str, reason: str = "", extra: str = MINE) -> Node:
    return Node(name=name, state=NodeState.parse(state), reason=reason, extra=extra)


def slurm(*nodes: Node, **more: Any) -> Seen:
    given: dict[str, Any] = {"reservations": {}, **more}
    return Seen({each.name: each for each in nodes}, **given)


def forgotten(found: Outcome) -> list[tuple[str, ...]]:
    return [step.names for step in steps(found) if isinstance(step, ForgetNodes)]


GOES = ("w-1",)
CASES: list[tuple[str, Node, bool]] = [
    ("drained by us", node("w-1", "IDLE+DRAIN", SCALE_IN), True),
    ("set down by its own pod", node("w-1", "DOWN", PRE_STOP), True),
    ("set down by its own pod, drained before", node("w-1", "DOWN+DRAIN", PRE_STOP), True),
    ("silent, as Slurm says", node("w-1", "DOWN+NOT_RESPONDING", "Not responding"), True),
    ("silent, without a word", node("w-1", "DOWN+NOT_RESPONDING"), True),
    ("drained by an administrator", node("w-1", "IDLE+DRAIN", "fan"), False),
    ("down by an administrator", node("w-1", "DOWN+NOT_RESPONDING", "fan"), False),
    ("drained by somebody without a word", node("w-1", "IDLE+DRAIN"), False),
    ("idle", node("w-1", "IDLE"), False),
    ("silent, but not down yet", node("w-1", "IDLE+NOT_RESPONDING"), False),
    ("completing", node("w-1", "IDLE+COMPLETING+DRAIN", SCALE_IN), False),
    ("draining", node("w-1", "MIXED+DRAIN", SCALE_IN), False),
    ("of a state that Slurm does not know", node("w-1", "UNKNOWN+DRAIN", SCALE_IN), False),
    ("of nobody", node("w-1", "IDLE+DRAIN", SCALE_IN, ""), False),
    ("of a set before", node("w-1", "IDLE+DRAIN", SCALE_IN, MINE.replace("u-w", "x")), False),
    ("wanted", node("w-0", "DOWN", PRE_STOP), False),
]


@pytest.mark.parametrize(
    ("found", "goes"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_only_what_stopped_for_us_is_forgotten(found: Node, goes: bool) -> None:
    assert forgotten(forget(course(ONE, slurm=slurm(found)))) == ([GOES] if goes else [])


def test_what_slinky_wrote_into_the_comment_counts_too() -> None:
    said = '{"namespace":"hpc","podName":"w-1","node":"n","nodeSetName":"w","nodeSetUID":"u-w"}'
    known = Node(name="w-1", state=NodeState.parse("DOWN"), reason=PRE_STOP, comment=said)

    assert forgotten(forget(course(ONE, slurm=slurm(known)))) == [GOES]


def test_many_are_forgotten_by_one_action() -> None:
    nodes = [node(f"w-{number}", "IDLE+DRAIN", SCALE_IN) for number in range(5)]
    found = forget(course(ONE, pods=(pod(0), pod(3, going=True)), slurm=slurm(*nodes)))

    assert forgotten(found) == [("w-1", "w-2", "w-4")]
    assert found.again is None


def test_one_that_may_go_later_is_looked_at_again() -> None:
    assert forget(course(ONE, slurm=slurm(node("w-1", "IDLE")))).again == AGAIN


def test_a_suspended_job_keeps_the_node_that_slurm_calls_idle() -> None:
    job = Job(id=7, nodes="w-1", state=JobState.parse("SUSPENDED"))
    known = slurm(node("w-1", "IDLE+DRAIN", SCALE_IN), jobs={"w-1": {"7": job}})

    assert forgotten(forget(course(ONE, slurm=known))) == []


@pytest.mark.parametrize(
    ("reservation", "goes"),
    [
        (Reservation(name="conference", nodes="w-[0-1]"), False),
        (Reservation(name="conference", nodes="v-1"), True),
        (Reservation(name="SlurmOperatorMaint-w", nodes="w-1"), True),
    ],
)
def test_what_others_have_reserved_is_kept(reservation: Reservation, goes: bool) -> None:
    known = slurm(node("w-1", "IDLE+DRAIN", SCALE_IN), reservations={reservation.name: reservation})

    assert forgotten(forget(course(ONE, slurm=known))) == ([GOES] if goes else [])


@pytest.mark.parametrize("known", [None, slurm(node("w-1", "DOWN", PRE_STOP), reservations=None)])
def test_what_is_not_known_is_waited_for(known: Seen | None) -> None:
    assert forgotten(forget(course(ONE, slurm=known))) == []


# --- one on every host ---------------------------------------------------------------------------

HOSTS = hosts(host("n1.example"), host("n2", annotations={labels.HOSTNAME_OVERRIDE: "gpu-2"}))


@pytest.mark.parametrize(
    ("name", "policy", "goes"),
    [
        ("n9", "NodeNotFound", True),
        ("n9", "Never", False),
        ("n1", "NodeNotFound", False),
        ("n1.example", "NodeNotFound", False),
        ("gpu-2", "NodeNotFound", False),
    ],
)
def test_a_host_that_is_gone_takes_its_record_along_where_that_is_asked_for(
    name: str, policy: str, goes: bool
) -> None:
    everywhere = node_set(scalingMode="DaemonSet", pruneSlurmNodeRecords=policy)
    known = slurm(node(name, "DOWN+NOT_RESPONDING", "Not responding"))
    found = forget(course(everywhere, slurm=known, hosts=HOSTS))

    assert forgotten(found) == ([(name,)] if goes else [])
    assert [s.reason.code for s in steps(found) if isinstance(s, ForgetNodes)] == (
        ["DefunctSlurmNodePruned"] if goes else []
    )


# --- whatever Slurm says -------------------------------------------------------------------------

nodes = st.builds(
    node,
    st.integers(0, 6).map(lambda number: f"w-{number}"),
    st.sampled_from(["IDLE", "IDLE+DRAIN", "MIXED+DRAIN", "DOWN", "DOWN+NOT_RESPONDING"]),
    st.sampled_from(["", "fan", PRE_STOP, SCALE_IN, "Not responding"]),
    st.sampled_from([MINE, "", "rack 7"]),
)


@given(
    known=st.lists(nodes, unique_by=lambda each: each.name),
    pods=st.sets(st.integers(0, 6)),
    replicas=st.integers(0, 7),
)
def test_no_worker_and_nothing_of_others_is_ever_forgotten(
    known: list[Node], pods: set[int], replicas: int
) -> None:
    seen = slurm(*known)
    workers = tuple(pod(number) for number in sorted(pods))
    found = forget(course(node_set(replicas=replicas), pods=workers, slurm=seen))

    for name in (each for names in forgotten(found) for each in names):
        record = seen.nodes[name]
        assert int(name.removeprefix("w-")) not in pods
        assert record.extra == MINE
        assert record.reason != "fan"
        assert seen.free(name)
