from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.observed import NOW, node_set, pod, slurm
from tests.unit.operator.workers.phases.courses import course, leaving
from windlass.kube.objects import Pod
from windlass.operator.workers.course import Pass
from windlass.operator.workers.facts import ready_since
from windlass.operator.workers.phases.update import budget, max_unavailable, update
from windlass.operator.workers.revision import revision, revision_of


def rolling(most: int | str = 1, replicas: int = 4, **more: Any) -> dict[str, Any]:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": most}, **more}
    return {"replicas": replicas, "updateStrategy": strategy}


def old(*ordinals: int, **more: Any) -> tuple[Pod, ...]:
    return tuple(pod(ordinal, revision="old", **more) for ordinal in ordinals)


def taken(of: Pass) -> list[str]:
    return list(update(of).leave)


@pytest.mark.parametrize(
    ("most", "wanted", "expected"),
    [(1, 10, 1), (0, 10, 1), ("25%", 10, 3), ("25%", 1, 1), ("100%", 7, 7), ("0%", 9, 1)],
)
def test_a_share_is_rounded_up_and_never_nothing(
    most: int | str, wanted: int, expected: int
) -> None:
    assert max_unavailable(node_set(**rolling(most)), wanted) == expected


def test_as_many_go_as_may_be_missing_and_the_idle_first() -> None:
    states = slurm(w_0="MIXED", w_1="IDLE", w_2="IDLE", w_3="MIXED")

    assert taken(course(node_set(**rolling(2)), pods=old(0, 1, 2, 3), slurm=states)) == [
        "w-2",
        "w-1",
    ]


BUDGETS = [
    ("all are up", old(0, 1, 2, 3), 2),
    ("a slot is empty", old(0, 1, 2), 1),
    ("a new one is not ready", (*old(0, 1, 2), pod(3, ready=False)), 1),
    ("a new one is on no node", (*old(0, 1, 2), pod(3, node="")), 1),
    ("one is going", (*old(0, 1, 2), pod(3, going=True)), 1),
    ("two are down", (*old(0, 1), pod(2, ready=False), pod(3, ready=False)), 0),
    ("three are down", (*old(0), *(pod(n, ready=False) for n in (1, 2, 3))), -1),
]


@pytest.mark.parametrize(
    ("pods", "expected"), [each[1:] for each in BUDGETS], ids=[each[0] for each in BUDGETS]
)
def test_whoever_is_missing_already_is_taken_off_the_budget(
    pods: tuple[Pod, ...], expected: int
) -> None:
    assert budget(course(node_set(**rolling(2)), pods=pods)) == expected


def test_who_leaves_for_another_reason_counts_as_missing() -> None:
    of = course(node_set(**rolling(2)), leaving("w-3"), pods=old(0, 1, 2, 3))

    assert budget(of) == 1


def test_an_old_worker_that_is_not_ready_goes_at_once_and_costs_nothing() -> None:
    pods = (*old(0, 1, 2), *old(3, ready=False))
    found = update(course(node_set(**rolling(1)), pods=pods))

    assert list(found.leave) == ["w-3"]
    assert [wait.code for wait in found.waits] == ["RollingUpdate"]


@pytest.mark.parametrize(("minutes", "expected"), [(9, []), (11, ["w-2"])])
def test_one_host_that_never_comes_up_does_not_hold_the_rest_for_ever(
    minutes: int, expected: list[str]
) -> None:
    made = (NOW - timedelta(minutes=minutes)).isoformat()
    pods = (pod(0, ready=False, created=made), pod(1), *old(2))
    of = course(node_set(**rolling(1, replicas=3)), pods=pods, slurm=slurm(w_2="IDLE"))

    assert taken(of) == expected


def test_a_template_that_nobody_can_start_stops_after_the_first() -> None:
    made = (NOW - timedelta(hours=5)).isoformat()
    pods = (pod(0, ready=False, created=made), *old(1, 2))

    assert taken(course(node_set(**rolling(1, replicas=3)), pods=pods)) == []


def test_a_worker_that_is_ready_for_too_short_a_time_is_not_available() -> None:
    of = node_set(minReadySeconds=30, **rolling(1, replicas=2))
    recent = (NOW - timedelta(seconds=10)).isoformat()

    assert taken(course(of, pods=(pod(0, of, since=recent), *old(1)))) == []


def test_whoever_was_taken_before_is_taken_again() -> None:
    states = slurm(w_0="MIXED+DRAIN", w_1="MIXED")
    reason = "slurm-operator: NodeSet (hpc/w) is updated"
    states["w-0"] = type(states["w-0"])(name="w-0", state=states["w-0"].state, reason=reason)

    assert taken(course(node_set(**rolling(1, replicas=2)), pods=old(0, 1), slurm=states)) == [
        "w-0"
    ]


@pytest.mark.parametrize("kind", ["OnDelete", "ScheduledUpdate"])
def test_other_strategies_take_nobody_here(kind: str) -> None:
    strategy = {"type": kind, "scheduledUpdate": {"startTime": "2026-08-01T00:00:00Z"}}

    assert taken(course(node_set(updateStrategy=strategy), pods=old(0))) == []


def test_a_paused_update_takes_nobody_and_says_so() -> None:
    found = update(course(node_set(**rolling(4, paused=True)), pods=old(0, 1)))

    assert dict(found.leave) == {}
    assert [wait.code for wait in found.waits] == ["UpdatePaused"]


STARTED = "slinky.slurm.net/slurm-config-hash"


@pytest.mark.parametrize(
    ("started", "present", "expected"),
    [("a", "a", []), ("a", "b", ["w-0"]), ("", "b", []), ("a", "", [])],
    ids=["the same", "others", "not said", "not known"],
)
def test_settings_that_slurmd_reads_only_when_it_starts_need_a_new_pod(
    started: str, present: str, expected: list[str]
) -> None:
    one = pod(0, annotations={STARTED: started} if started else {})

    assert taken(course(node_set(**rolling(1, 1)), pods=(one,), start_conf=present)) == expected


workers = st.builds(
    lambda ordinal, ready, placed, going, newest: pod(
        ordinal,
        ready=ready and placed,
        node="n" if placed else "",
        going=going,
        created=NOW.isoformat(),
        revision=revision(node_set(), None) if newest else "old",
    ),
    st.integers(0, 9),
    *(st.booleans() for _ in range(4)),
)


@given(
    pods=st.lists(workers, unique_by=lambda each: each.metadata.name, max_size=10),
    replicas=st.integers(1, 10),
    most=st.integers(1, 10) | st.integers(1, 100).map(lambda share: f"{share}%"),
)
def test_never_are_more_unavailable_than_the_user_allows(
    pods: Sequence[Pod], replicas: int, most: int | str
) -> None:
    of = node_set(**rolling(most, replicas))
    found = update(course(of, pods=tuple(pods)))

    up = [each for each in pods if ready_since(each) and not each.metadata.deletion_timestamp]
    hurt = [each for each in up if each.metadata.name in found.leave]
    assert all(revision_of(each) == "old" for each in hurt)
    if hurt:
        assert replicas - (len(up) - len(hurt)) <= max_unavailable(of, replicas)
