from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.observed import node_set
from windlass.operator.workers.reservation import (
    ADVANCING,
    STEPS,
    Schedule,
    nodes_of,
    reserved,
    schedule,
)
from windlass.slurm.model import Reservation

START = 1_785_549_600  # 2026-08-01T02:00:00Z


def strategy(**scheduled: Any) -> dict[str, Any]:
    given = {"startTime": "2026-08-01T02:00:00Z", **scheduled}
    return {"updateStrategy": {"type": "ScheduledUpdate", "scheduledUpdate": given}}


def planned(*flags: str, starts_at: int = START, minutes: int = 30) -> Schedule:
    return Schedule("SlurmOperatorMaint-w", starts_at, minutes, ("MAINT", "IGNORE_JOBS", *flags))


def held(*flags: str, start: int = START, minutes: int = 30) -> Reservation:
    shown = frozenset({"MAINT", "IGNORE_JOBS", "SPEC_NODES", *flags})
    return Reservation(
        name="SlurmOperatorMaint-w", starts_at=start, ends_at=start + minutes * 60, flags=shown
    )


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (strategy(), planned()),
        (strategy(duration="90s", flags=["daily", "MAINT"]), planned("DAILY", minutes=2)),
        ({**strategy(), "replicas": 0}, None),
        ({**strategy(), "replicas": 0, "scalingMode": "DaemonSet"}, planned()),
        ({"updateStrategy": {"type": "ScheduledUpdate"}}, None),
        ({}, None),
        ({"updateStrategy": {**strategy()["updateStrategy"], "type": "OnDelete"}}, None),
    ],
)
def test_what_is_wanted(spec: dict[str, Any], wanted: Schedule | None) -> None:
    assert schedule(node_set(**spec)) == wanted


@pytest.mark.parametrize(
    ("flags", "now", "begin"),
    [
        ((), START - 1, START),
        ((), START, None),
        (("FORCE_START",), START + 500, START),
        (("DAILY",), START - 500, START),
        (("DAILY",), START, START + 86_400),
        (("DAILY",), START + 86_399, START + 86_400),
        (("HOURLY",), START + 7_000, START + 7_200),
        (("WEEKLY",), START + 86_400, START + 604_800),
        (("WEEKEND",), START + 86_400, None),
    ],
)
def test_when_it_can_begin(flags: tuple[str, ...], now: int, begin: int | None) -> None:
    assert planned(*flags).next_start(now) == begin


@given(flag=st.sampled_from(sorted(ADVANCING)), later=st.integers(0, 10**8))
def test_the_next_start_is_never_over_and_never_a_turn_too_late(flag: str, later: int) -> None:
    begin = planned(flag).next_start(START + later)

    assert begin is not None
    assert 0 < begin - (START + later) <= STEPS[flag]
    assert planned(flag).agrees(held(flag, start=begin))


@pytest.mark.parametrize(
    ("wanted", "found", "agrees"),
    [
        (planned(), held(), True),
        (planned(), held(start=START + 5), True),
        (planned(), held(start=START + 500), False),
        (planned(), held(minutes=60), False),
        (planned(), held("DAILY"), False),
        (planned("DAILY"), held("DAILY"), True),
        (planned("DAILY"), held("DAILY", start=START + 3 * 86_400), True),
        (planned("DAILY"), held("DAILY", start=START + 3 * 86_400 - 5), True),
        (planned("DAILY"), held("DAILY", start=START + 3_600), False),
        (planned("DAILY"), held("WEEKLY"), False),
        (planned("DAILY", "FORCE_START"), held("DAILY"), True),
        (planned(), Reservation(name="x", starts_at=START, ends_at=START + 1_800), False),
    ],
)
def test_whether_a_reservation_is_what_is_wanted(
    wanted: Schedule, found: Reservation, agrees: bool
) -> None:
    assert wanted.agrees(found) is agrees


def test_what_others_reserved() -> None:
    found = {
        "SlurmOperatorMaint-w": Reservation(name="SlurmOperatorMaint-w", nodes="w-[0-9]"),
        "conference": Reservation(name="conference", nodes="w-[2-3],v-1"),
        "licences": Reservation(name="licences"),
        "odd": Reservation(name="odd", nodes="w-["),
    }

    assert reserved(found, "w") == {"w-2", "w-3", "v-1"}
    assert nodes_of(found["odd"]) == frozenset()
