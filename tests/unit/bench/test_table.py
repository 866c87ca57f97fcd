"""A row of the table says whether its limit was kept."""

import pytest

from bench.workers.table import Row, percentile


@pytest.mark.parametrize(
    ("row", "kept"),
    [
        (Row(what="x", value=3, floor=1, times=3), True),
        (Row(what="x", value=3.1, floor=1, times=3), False),
        (Row(what="x", value=5, most=5), True),
        (Row(what="x", value=6, floor=100, most=5), False),
        (Row(what="x", value=None, floor=1, times=3), False),
        (Row(what="x", value=None, most=3), False),
        (Row(what="x", value=7), None),
    ],
)
def test_a_limit_is_of_the_value_or_of_its_ratio_to_the_floor(row: Row, kept: bool | None) -> None:
    assert row.kept is kept


def test_a_percentile_is_one_of_the_samples() -> None:
    samples = [float(number) for number in range(100)]
    assert percentile(samples, 0.95) == 95
    assert percentile([3.0], 0.95) == 3
