import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.slurm.model import Job, Partition
from windlass.slurm.pace import CALM, STARTS, Pace, Rhythm, until_beat
from windlass.slurm.table import Table, array_tasks, changes, job_keys
from windlass.values.clock import Instant, Seconds

READINGS = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["UP", "DOWN"]))


def reading(states: dict[str, str]) -> dict[str, Partition]:
    return {name: Partition(name, state) for name, state in states.items()}


@given(READINGS, READINGS)
def test_the_changes_turn_one_reading_into_the_next_and_name_nothing_else(
    old: dict[str, str], new: dict[str, str]
) -> None:
    before, after = reading(old), reading(new)
    found = changes(before, after)

    played = dict(before)
    for change in found:
        assert change.before != change.after
        if change.after is None:
            del played[change.name]
        else:
            played[change.name] = change.after
    assert played == after


def test_what_is_unknown_counts_from_the_last_answer() -> None:
    table: Table[Partition] = Table()
    table.replace(reading({"a": "UP"}), Instant(10.0))
    table.lose(Instant(15.0))
    table.lose(Instant(20.0))
    assert (table.unknown_since, table.since) == (10.0, None)

    table.confirm(Instant(21.0))
    assert (table.unknown_since, table.as_of) == (None, 21.0)


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        ("0-3", [0, 1, 2, 3]),
        ("1,5", [1, 5]),
        ("0-10:5%2", [0, 5, 10]),
        ("", []),
    ],
)
def test_array_tasks(text: str, tasks: list[int]) -> None:
    assert array_tasks(text) == tasks


def test_an_array_has_the_name_of_each_of_its_tasks() -> None:
    assert job_keys(Job(5)) == ("5",)
    assert job_keys(Job(7, array_job_id=5, array_task_id=0)) == ("7_0",)
    assert job_keys(Job(5, array_job_id=5, array_tasks="1-2")) == ("5_1", "5_2")


def test_a_change_is_followed_soon_and_rest_slows_down_to_its_limit() -> None:
    rhythm = Rhythm.start(Pace()).after_change(Seconds(0.01))
    waits = []
    for _ in range(6):
        rhythm = rhythm.after_nothing(Seconds(0.005))
        waits.append(rhythm.wait)

    assert waits == sorted(waits)
    assert waits[-1] == Pace().rest


def test_a_cluster_that_changes_all_the_time_is_asked_more_rarely_than_one_at_rest() -> None:
    rhythm, waits = Rhythm.start(Pace()), []
    for _ in range(8):
        rhythm = rhythm.after_change(Seconds(0.01))
        waits.append(rhythm.wait)

    assert waits[0] == Pace().busy
    assert waits == sorted(waits)
    assert waits[-1] == Pace().churn > Pace().rest
    assert rhythm.after_nothing(Seconds(0.01)).after_change(Seconds(0.01)).wait == Pace().busy


def test_a_dear_answer_is_not_asked_for_all_the_time() -> None:
    assert Rhythm.start(Pace()).after_change(Seconds(7.0)).wait == 7.0


def test_who_is_in_a_hurry_waits_as_long_as_the_last_answer_took() -> None:
    hurried = [Rhythm.start(STARTS).after_change(Seconds(cost)).soonest for cost in (0.01, 0.4)]
    assert hurried == [STARTS.nudged, 0.4]
    assert Rhythm.start(Pace()).after_change(Seconds(0.4)).soonest == 0.0


def test_who_looks_at_nodes_is_never_in_such_a_hurry_that_jobs_are_read_most_of_the_time() -> None:
    soonest = [Rhythm.start(CALM).after_change(Seconds(cost)).soonest for cost in (0.001, 0.05, 2)]
    assert soonest == [CALM.nudged, pytest.approx(0.45), CALM.longest]


def test_a_long_queue_is_read_seldom_unless_somebody_is_in_a_hurry() -> None:
    rhythm = Rhythm.start(STARTS)
    for _ in range(5):
        rhythm = rhythm.after_nothing(Seconds(0.2))
    assert rhythm.wait == pytest.approx(1.8)
    assert rhythm.soonest == STARTS.nudged
    assert rhythm.after_change(Seconds(10.0)).wait == STARTS.longest


@pytest.mark.parametrize("changes", [1, 20])
def test_at_a_thousand_nodes_a_change_is_seen_within_a_second(changes: int) -> None:
    listing = 0.2  # seconds, measured; the change may come just after one has begun
    rhythm = Rhythm.start(Pace())
    for _ in range(changes):
        rhythm = rhythm.after_change(Seconds(listing))
    assert listing + rhythm.wait + listing <= 1.0


@pytest.mark.parametrize(
    ("now", "wait"), [(100.0, 0.1), (100.05, 0.05), (100.1, 0.5), (100.3, 0.3), (100.7, 0.4)]
)
def test_the_next_beat_is_later_than_now(now: float, wait: float) -> None:
    assert until_beat((0.1, 0.6), Instant(now), Instant(now)) == pytest.approx(wait)


@pytest.mark.parametrize(
    ("since", "now", "wait"),
    [
        (99.9, 100.2, 0.0),
        (99.9, 100.5, 0.1),
        (100.1, 100.2, 0.4),
        (100.15, 100.2, 0.4),
        (99.0, 100.05, 0.05),
        (99.9, 100.11, 0.0),
    ],
)
def test_a_beat_that_passed_a_moment_ago_is_made_up_for(
    since: float, now: float, wait: float
) -> None:
    assert until_beat((0.1, 0.6), Instant(now), Instant(since)) == pytest.approx(wait)


def test_failures_back_off() -> None:
    rhythm = Rhythm.start(Pace())
    waits = []
    for _ in range(7):
        rhythm = rhythm.after_failure()
        waits.append(rhythm.wait)
    assert waits == [0.5, 1, 2, 4, 8, 10, 10]
    assert rhythm.after_nothing(Seconds(0.01)).failures == 0
