from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.operator.workers.observed import NOW, membership, node_set, observed, pod, slurm
from tests.unit.operator.workers.phases.courses import course, steps
from windlass.api.node_set import NodeSet
from windlass.operator.plan import Reserve, Unreserve
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.course import Outcome
from windlass.operator.workers.phases.reserve import reserve
from windlass.operator.workers.plan import plan
from windlass.operator.workers.reservation import schedule
from windlass.slurm.model import Reservation
from windlass.slurm.specs import ReservationSpec

NAME = "SlurmOperatorMaint-w"
SOON = NOW + timedelta(hours=1)
PODS = tuple(pod(number) for number in range(3))
NODES = slurm(w_0="IDLE", w_1="ALLOCATED", other_0="IDLE")


def wants(
    *flags: str, begin: datetime = SOON, said: tuple[str, str] | None = None, **spec: Any
) -> NodeSet:
    given = {"startTime": begin, "duration": "30m", "flags": list(flags)}
    of = node_set(
        replicas=3,
        updateStrategy={"type": "ScheduledUpdate", "scheduledUpdate": given},
    )
    return _with(of, said, **spec)


def _with(of: NodeSet, said: tuple[str, str] | None, **spec: Any) -> NodeSet:
    """The set with what its condition remembers; a star stands for its own schedule."""
    body = msgspec.to_builtins(of)
    body["spec"].update(spec)
    if said is not None:
        message = str(schedule(of)) if said[1] == "*" else said[1]
        status = "True" if said[0] == "Created" else "False"
        body["status"]["conditions"] = [
            {
                "type": "ReservationCreated",
                "status": status,
                "reason": said[0],
                "message": message,
                "lastTransitionTime": "2026-07-01T00:00:00Z",
            }
        ]
    return msgspec.convert(body, NodeSet)


def there(*flags: str, begin: datetime = SOON, nodes: str = "w-[0-1]") -> Reservation:
    start = int(begin.timestamp())
    shown = frozenset({"MAINT", "IGNORE_JOBS", "SPEC_NODES", *flags})
    return Reservation(
        name=NAME, nodes=nodes, starts_at=start, ends_at=start + 1800, flags=shown, users="slurm"
    )


def after(of: NodeSet, *found: Reservation, nodes: Any = None, **more: Any) -> Outcome:
    known = Seen(NODES if nodes is None else nodes, {}, {each.name: each for each in found})
    return reserve(course(of, pods=PODS, slurm=known, **more))


def done(found: Outcome) -> list[str]:
    words = []
    for step in steps(found):
        if isinstance(step, Reserve):
            words.append("nodes" if step.spec.flags is None else "make")
        if isinstance(step, Unreserve):
            words.append("remove")
    return words


def said(found: Outcome) -> list[tuple[bool | None, str]]:
    return [(each.status, each.reason.code) for each in found.verdicts]


OVER = NOW - timedelta(hours=1)
RUNNING = NOW - timedelta(minutes=10)
CASES: list[tuple[str, NodeSet, list[Reservation], list[str], list[Any]]] = [
    ("never made", wants(), [], ["make"], [(False, "Creating")]),
    (
        "asked for, and not there",
        wants(said=("Creating", "*")),
        [],
        ["make"],
        [(False, "Creating")],
    ),
    ("there", wants(said=("Creating", "*")), [there()], [], [(True, "Created")]),
    ("there still", wants(said=("Created", "*")), [there()], [], [(True, "Created")]),
    ("made by Slinky", wants(said=("Created", "Created")), [there()], [], [(True, "Created")]),
    ("for other nodes", wants(), [there(nodes="w-[1-2]")], ["nodes"], [(True, "Created")]),
    ("too late", wants(begin=OVER), [], [], [(False, "TooLate")]),
    (
        "at another time",
        wants(said=("Created", f"{NAME} before")),
        [there(begin=SOON + timedelta(hours=1))],
        ["remove", "make"],
        [(False, "Creating")],
    ),
    (
        "with flags that Slurm does not show",
        wants("FLEX", said=("Created", f"{NAME} before")),
        [there()],
        ["remove", "make"],
        [(False, "Creating")],
    ),
    (
        "made with such flags",
        wants("FLEX", said=("Creating", "*")),
        [there()],
        [],
        [(True, "Created")],
    ),
    (
        "changed while it is in force",
        wants(said=("Created", f"{NAME} before")),
        [there(begin=RUNNING, nodes="w-0")],
        ["nodes"],
        [(True, "Created")],
    ),
    (
        "in force",
        wants(begin=RUNNING, said=("Created", "*")),
        [there(begin=RUNNING)],
        [],
        [(True, "Created")],
    ),
    ("over", wants(begin=OVER, said=("Created", "*")), [], [], [(False, "Over")]),
    ("over for long", wants(begin=OVER, said=("Over", "*")), [], [], [(False, "Over")]),
    ("removed by hand", wants(said=("Created", "*")), [], [], [(False, "Removed")]),
    ("removed for long", wants(said=("Removed", "*")), [], [], [(False, "Removed")]),
    (
        "removed, and changed",
        wants(said=("Removed", f"{NAME} x")),
        [],
        ["make"],
        [(False, "Creating")],
    ),
    (
        "forced to start, and over",
        wants("FORCE_START", begin=OVER, said=("Created", "*")),
        [],
        [],
        [(False, "Over")],
    ),
    (
        "moved on by Slurm",
        wants("DAILY", begin=OVER, said=("Created", "*")),
        [there("DAILY", begin=OVER + timedelta(days=1))],
        [],
        [(True, "Created")],
    ),
    ("daily, and never made", wants("daily", begin=OVER), [], ["make"], [(False, "Creating")]),
    ("no more", _with(node_set(), ("Created", "x")), [there()], ["remove"], [(False, "NotExists")]),
    ("no more, and gone", _with(node_set(), ("NotExists", "x")), [], [], []),
    ("another's", node_set(), [there()], [], []),
    (
        "scaled to nothing",
        wants(said=("Created", "*"), replicas=0),
        [there()],
        ["remove"],
        [(False, "NotExists")],
    ),
]


@pytest.mark.parametrize(
    ("of", "found", "expected", "shown"),
    [each[1:] for each in CASES],
    ids=[each[0] for each in CASES],
)
def test_a_reservation_is_made_once_for_each_schedule(
    of: NodeSet, found: list[Reservation], expected: list[str], shown: list[Any]
) -> None:
    outcome = after(of, *found)

    assert (done(outcome), said(outcome)) == (expected, shown)


def test_what_is_asked_of_slurm() -> None:
    (step,) = steps(after(wants("daily", begin=OVER)))

    assert isinstance(step, Reserve)
    assert step.spec == ReservationSpec(
        name=NAME,
        nodes=("w-[0-1]",),
        starts_at=int((OVER + timedelta(days=1)).timestamp()),
        minutes=30,
        users=("slurm",),
        flags=("MAINT", "IGNORE_JOBS", "DAILY"),
    )


def test_only_the_nodes_are_told_where_only_they_differ() -> None:
    (step,) = steps(after(wants(), there(nodes="w-0")))

    assert isinstance(step, Reserve)
    assert step.spec == ReservationSpec(name=NAME, nodes=("w-[0-1]",))


def test_without_a_registered_worker_nothing_is_reserved() -> None:
    outcome = after(wants(), nodes={})

    assert (done(outcome), said(outcome)) == ([], [(False, "NotExists")])


def test_a_change_is_looked_at_again_when_what_is_in_force_is_over() -> None:
    found = after(wants(said=("Created", f"{NAME} before")), there(begin=RUNNING))

    assert found.again == 20 * 60.0


@pytest.mark.parametrize("known", [None, Seen(NODES, {}, None)])
def test_a_silent_slurm_changes_nothing_and_what_is_remembered_stays(known: Seen | None) -> None:
    of = wants(said=("Created", "*"))
    outcome = reserve(course(of, pods=PODS, slurm=known))

    assert (done(outcome), said(outcome)) == ([], [(True, "Created")])
    assert outcome.verdicts[0].reason.sentence == str(schedule(of))


@pytest.mark.parametrize("cluster", [membership(), None])
def test_a_set_remembers_also_without_its_cluster(cluster: Any) -> None:
    of = wants(said=("Over", "*"))
    status = plan(observed(of, pods=PODS, membership=cluster), NOW).status

    assert status is not None
    assert ("ReservationCreated", "Over") in [
        (each["type"], each["reason"]) for each in status["conditions"]
    ]
