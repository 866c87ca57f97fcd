import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values.backoff import delay, jittered, left
from windlass.values.clock import Instant, Seconds

FIRST, CAP = Seconds(0.5), Seconds(30)


@pytest.mark.parametrize(
    ("tries", "want"), [(0, 0), (1, 0.5), (2, 1), (3, 2), (6, 16), (7, 30), (8, 30), (10**9, 30)]
)
def test_waits_double_until_the_cap(tries: int, want: float) -> None:
    assert delay(tries, first=FIRST, cap=CAP) == want


def test_a_cap_below_the_first_wait_rules() -> None:
    assert delay(1, first=Seconds(5), cap=Seconds(2)) == Seconds(2)


def test_no_first_wait_is_no_wait() -> None:
    assert delay(5, first=Seconds(0), cap=CAP) == Seconds(0)


@pytest.mark.parametrize(("roll", "want"), [(0.0, 8), (0.5, 10), (1.0, 12)])
def test_the_roll_moves_a_wait_within_its_spread(roll: float, want: float) -> None:
    assert jittered(Seconds(10), spread=0.2, roll=roll) == pytest.approx(want)


@pytest.mark.parametrize(
    ("now", "want"),
    [
        pytest.param(100, 10, id="just failed"),
        pytest.param(104, 6, id="some time ago"),
        pytest.param(111, 0, id="long ago"),
        pytest.param(50, 10, id="the clock went back: no longer than the whole wait"),
    ],
)
def test_what_is_left_of_a_wait(now: float, want: float) -> None:
    assert left(Instant(100), Seconds(10), Instant(now)) == want


@given(st.integers(0, 5000), st.floats(0.001, 10), st.floats(0.001, 1000))
def test_waits_never_shrink_and_never_pass_the_cap(tries: int, first: float, cap: float) -> None:
    wait = delay(tries, first=Seconds(first), cap=Seconds(cap))
    assert wait <= cap
    assert wait <= delay(tries + 1, first=Seconds(first), cap=Seconds(cap))
