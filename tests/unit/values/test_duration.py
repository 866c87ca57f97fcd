"""Durations; the first table is what Slurm 26.05 printed for a partition's MaxTime."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values.duration import UNLIMITED, Duration
from windlass.values.malformed import Malformed


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("90", "01:30:00"),
        ("90:00", "01:30:00"),
        ("90:30", "01:31:00"),
        ("02:03", "00:03:00"),
        ("1-02:03:04", "1-02:04:00"),
        ("1-02", "1-02:00:00"),
        ("1-02:03", "1-02:03:00"),
        ("1:2:3", "01:03:00"),
        ("26:03:04", "1-02:04:00"),
        ("0", "00:00:00"),
        ("00:00:01", "00:01:00"),
        ("1-30", "2-06:00:00"),
        ("100:61:61", "4-05:03:00"),
        ("366-0", "366-00:00:00"),
    ],
)
def test_a_limit_in_minutes_is_the_one_slurm_keeps(text: str, want: str) -> None:
    minutes = Duration.parse(text).minutes
    assert minutes is not None
    assert str(Duration.of_minutes(minutes)) == want


@pytest.mark.parametrize("text", ["UNLIMITED", "INFINITE", "unlimited", "-1"])
def test_no_limit_has_several_names_and_is_longer_than_any(text: str) -> None:
    duration = Duration.parse(text)
    assert duration == UNLIMITED
    assert duration.minutes is None
    assert str(duration) == "UNLIMITED"
    assert duration > Duration.parse("9999-0")


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("abc", 0),
        ("5m", 1),
        ("1.5", 1),
        ("1:", 0),
        (":1", 0),
        ("1-", 0),
        ("1-1-1", 0),
        ("1:2:3:4", 0),
        ("+5", 0),
        ("NONE", 0),
        ("4294967293", 0),
        ("1" * 41, 0),
    ],
)
def test_what_is_no_duration_is_refused(text: str, position: int) -> None:
    with pytest.raises(Malformed, match="duration") as caught:
        Duration.parse(text)
    assert caught.value.position == position


@given(st.integers(0, 10**9))
def test_a_printed_duration_is_read_back_to_the_second(seconds: int) -> None:
    duration = Duration(seconds)
    assert Duration.parse(str(duration)) == duration


@given(st.integers(1, 10**9))
def test_something_never_becomes_nothing_in_minutes(seconds: int) -> None:
    minutes = Duration(seconds).minutes
    assert minutes is not None
    assert minutes > 0
    assert 0 <= minutes * 60 - seconds < 60
