import pytest

from windlass.api.durations import seconds
from windlass.values.malformed import Malformed


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("15m", 900),
        ("1h0m0s", 3600),
        ("1.5h", 5400),
        ("0s", 0),
        ("1500ms", 1.5),
        ("2us", 2e-6),
        ("2µs", 2e-6),
        ("5ns", 5e-9),
    ],
)
def test_a_time_is_the_sum_of_its_parts(text: str, want: float) -> None:
    assert seconds(text) == pytest.approx(want)


@pytest.mark.parametrize(("text", "at"), [("", 0), ("5", 0), ("1h5", 2), ("-1h", 0), ("1 h", 0)])
def test_what_is_no_time_is_refused_where_it_goes_wrong(text: str, at: int) -> None:
    with pytest.raises(Malformed) as caught:
        seconds(text)
    assert caught.value.position == at
