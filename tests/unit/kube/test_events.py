import asyncio
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.kube.events import (
    Create,
    EventGone,
    Happening,
    Limits,
    Patch,
    Planner,
    Recorder,
    Regarding,
    Reporter,
    Telling,
)
from windlass.testing.virtual import clock, run

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
POD = Regarding("v1", "Pod", "slurm", "w-0", "uid-0")
DRAINED = Happening(POD, "Drained", "Drain", "cordoned by jane")
LIMITS = Limits(burst=5, refill=60, refresh=60, quiet=360, alike=3, series=50)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def planner() -> Planner:
    return Planner(Reporter("windlass.dev/operator", "operator-0"), LIMITS)


def created(telling: Telling | None) -> dict[str, Any]:
    assert isinstance(telling, Create)
    return telling.body


def series(telling: Telling | None) -> dict[str, Any]:
    assert isinstance(telling, Patch)
    told: dict[str, Any] = telling.body["series"]
    return told


def test_a_first_happening_is_told_in_full() -> None:
    body = created(planner().plan(replace(DRAINED, warning=True), NOON))
    assert body["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "slurm",
        "name": "w-0",
        "uid": "uid-0",
    }
    assert (body["reason"], body["action"], body["type"]) == ("Drained", "Drain", "Warning")
    assert body["note"] == "cordoned by jane"
    assert body["eventTime"] == "2026-11-15T12:00:00.000000Z"
    assert body["reportingController"] == "windlass.dev/operator"
    assert "series" not in body


def test_the_first_repetition_makes_a_series_of_the_same_event() -> None:
    plans = planner()
    first = plans.plan(DRAINED, NOON)
    again = plans.plan(DRAINED, at(2))
    assert first is not None
    assert again is not None
    assert again.name == first.name
    assert series(again) == {"count": 2, "lastObservedTime": "2026-11-15T12:00:02.000000Z"}


def test_later_repetitions_are_counted_and_told_now_and_then() -> None:
    plans = planner()
    plans.plan(DRAINED, NOON)
    plans.plan(DRAINED, at(1))
    assert [plans.plan(DRAINED, at(second)) for second in range(2, 60)] == [None] * 58
    assert series(plans.plan(DRAINED, at(61)))["count"] == 61


def test_what_was_counted_is_told_later_even_if_it_does_not_happen_again() -> None:
    plans = planner()
    for second in range(4):
        plans.plan(DRAINED, at(second))
    assert list(plans.due(at(10))) == []
    (told,) = plans.due(at(61))
    assert series(told) == {"count": 4, "lastObservedTime": "2026-11-15T12:00:03.000000Z"}
    assert list(plans.due(at(122))) == []


def test_after_a_long_quiet_it_is_told_as_new() -> None:
    plans = planner()
    first = plans.plan(DRAINED, NOON)
    assert list(plans.due(at(360))) == []
    again = plans.plan(DRAINED, at(361))
    assert isinstance(again, Create)
    assert first is not None
    assert again.name != first.name


def test_an_object_has_a_bucket_of_its_own_that_fills_again() -> None:
    plans = planner()
    other = replace(DRAINED, regarding=replace(POD, name="w-1"))
    told = [plans.plan(replace(DRAINED, reason=f"R{n}"), NOON) for n in range(9)]
    assert [telling is not None for telling in told] == [True] * 5 + [False] * 4
    assert plans.plan(other, NOON) is not None
    assert plans.plan(replace(DRAINED, reason="R9"), at(59)) is None
    assert plans.plan(replace(DRAINED, reason="R9"), at(61)) is not None


def test_many_that_differ_in_their_note_only_are_told_as_one() -> None:
    plans = planner()
    told = [plans.plan(replace(DRAINED, note=f"job {n}"), at(n)) for n in range(5)]
    assert [created(telling)["note"] for telling in told[:4]] == [
        "job 0",
        "job 1",
        "job 2",
        "Drained: many, with differing notes",
    ]
    assert series(told[4])["count"] == 2


def test_an_object_without_a_namespace_is_told_in_the_default_one() -> None:
    node = Regarding("v1", "Node", "", "n-0")
    telling = planner().plan(replace(DRAINED, regarding=node, related=POD), NOON)
    assert telling is not None
    assert telling.namespace == "default"
    assert "namespace" not in created(telling)["regarding"]
    assert created(telling)["related"]["name"] == "w-0"


def test_long_names_and_notes_are_shortened_to_what_the_server_takes() -> None:
    long = replace(DRAINED, regarding=replace(POD, name="n" * 253), note="é" * 1000)
    telling = planner().plan(long, NOON)
    assert telling is not None
    assert len(telling.name) == 253
    assert len(created(telling)["note"].encode()) <= 1024


def test_a_wall_clock_that_is_set_back_does_no_harm() -> None:
    plans = planner()
    plans.plan(DRAINED, NOON)
    assert series(plans.plan(DRAINED, at(-3600)))["count"] == 2
    assert list(plans.due(at(-7200))) == []


def test_an_event_that_is_gone_is_told_anew() -> None:
    plans = planner()
    first = plans.plan(DRAINED, NOON)
    assert first is not None
    plans.forget(first.name)
    assert isinstance(plans.plan(DRAINED, at(1)), Create)


def test_memory_is_bounded_and_given_back() -> None:
    plans = planner()
    told = [
        plans.plan(replace(DRAINED, regarding=replace(POD, name=f"w-{n}")), NOON)
        for n in range(200)
    ]
    assert sum(telling is not None for telling in told) == LIMITS.series
    list(plans.due(at(400)))
    assert (len(plans._series), len(plans._buckets), len(plans._alike)) == (0, 0, 0)


@given(
    st.lists(
        st.tuples(st.sampled_from("ABC"), st.sampled_from("xyzuv"), st.floats(0, 200)),
        max_size=80,
    )
)
def test_no_object_is_told_of_more_than_its_bucket_allows(
    steps: list[tuple[str, str, float]],
) -> None:
    plans, second, told = planner(), 0.0, 0
    for reason, note, wait in steps:
        second += wait
        told += len(list(plans.due(at(second))))
        told += plans.plan(replace(DRAINED, reason=reason, note=note), at(second)) is not None
    assert told <= LIMITS.burst + second / LIMITS.refill + 1e-6


# --- The recorder ----------------------------------------------------------------------------


class FakeSink:
    def __init__(self) -> None:
        self.sent: list[Telling] = []
        self.error: Exception | None = None
        self.delay = 0.0

    async def create(self, event: Create) -> None:
        await self.take(event)

    async def patch(self, event: Patch) -> None:
        await self.take(event)

    async def take(self, event: Telling) -> None:
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        self.sent.append(event)


async def recorded(sink: FakeSink, happenings: list[Happening], seconds: float) -> Counter[str]:
    """Record at once, run for some seconds, and say what became of it."""
    counts: Counter[str] = Counter()

    def count(fate: str) -> None:
        counts[fate] += 1

    recorder = Recorder(planner(), sink, lambda: at(clock()), count, room=4)
    async with asyncio.TaskGroup() as tasks:
        for happening in happenings:
            recorder.record(happening)
        assert clock() == 0  # recording takes no time
        task = tasks.create_task(recorder.run(lambda: None))
        await asyncio.sleep(seconds)
        task.cancel()
    return counts


def test_recorded_events_are_sent_and_series_refreshed() -> None:
    sink = FakeSink()
    counts = run(recorded(sink, [DRAINED] * 10, seconds=100))
    assert [type(telling) for telling in sink.sent] == [Create, Patch, Patch]
    assert series(sink.sent[-1])["count"] == 10
    assert counts == {"sent": 3, "counted": 8}


def test_a_flush_waits_until_everything_that_was_recorded_is_sent() -> None:
    pods = [replace(DRAINED, regarding=replace(POD, name=f"w-{n}")) for n in range(4)]
    sink = FakeSink()
    sink.delay = 2

    async def main() -> float:
        recorder = Recorder(planner(), sink, lambda: at(clock()))
        task = asyncio.create_task(recorder.run(lambda: None))
        for pod in pods:
            recorder.record(pod)
        await recorder.flush()
        task.cancel()
        return clock()

    assert run(main()) == 8
    assert len(sink.sent) == 4


def test_what_finds_no_room_is_dropped_and_counted() -> None:
    pods = [replace(DRAINED, regarding=replace(POD, name=f"w-{n}")) for n in range(10)]
    sink = FakeSink()
    sink.delay = 5
    assert run(recorded(sink, pods, seconds=100)) == {"sent": 4, "dropped": 6}


def test_what_is_over_an_objects_limit_is_dropped_and_counted() -> None:
    reasons = [replace(DRAINED, reason=f"R{n}") for n in range(3)] + [
        replace(DRAINED, reason=f"R{n}", warning=True) for n in range(4)
    ]
    assert run(recorded(FakeSink(), reasons, seconds=5)) == {"sent": 4, "dropped": 3}


@pytest.mark.parametrize(
    ("error", "fate"), [(EventGone(), "gone"), (ConnectionError("no route"), "failed")]
)
def test_a_failing_sink_stops_nobody(error: Exception, fate: str) -> None:
    sink = FakeSink()
    sink.error = error
    assert run(recorded(sink, [DRAINED], seconds=100)) == {fate: 1}


def test_a_sink_that_never_answers_is_given_up() -> None:
    sink = FakeSink()
    sink.delay = 10_000
    assert run(recorded(sink, [DRAINED], seconds=15)) == {"failed": 1}
