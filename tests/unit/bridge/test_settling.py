"""What daemons take of nodes, without the ups and downs of their updates."""

import pytest

from windlass.bridge.settling import PATIENCE, Settling

Moment = tuple[float, dict[str, int], dict[str, int]]


@pytest.mark.parametrize(
    "course",
    [
        [(0.0, {"cpu": 1}, {"cpu": 1}), (1.0, {"cpu": 2}, {"cpu": 2})],
        [(0.0, {"cpu": 2}, {"cpu": 2}), (1.0, {}, {"cpu": 2}), (9.0, {"cpu": 2}, {"cpu": 2})],
        [(0.0, {"cpu": 2}, {"cpu": 2}), (1.0, {}, {"cpu": 2}), (PATIENCE + 1, {}, {})],
        [
            (0.0, {"cpu": 2}, {"cpu": 2}),
            (1.0, {"cpu": 1}, {"cpu": 2}),
            (9.0, {"cpu": 2}, {"cpu": 2}),
            (PATIENCE + 2, {"cpu": 1}, {"cpu": 2}),
        ],
        [(0.0, {"cpu": 2}, {"cpu": 2}), (1.0, {"memory": 3}, {"cpu": 2, "memory": 3})],
    ],
)
def test_more_counts_at_once_and_less_when_it_has_stayed_so(course: list[Moment]) -> None:
    settling = Settling()
    for now, found, counted in course:
        assert settling.count("n1", found, now) == counted


def test_it_is_known_when_less_will_count() -> None:
    settling = Settling()
    settling.count("n1", {"cpu": 2}, 0.0)
    assert settling.due(5.0) is None
    settling.count("n1", {}, 10.0)
    assert settling.due(20.0) == PATIENCE - 10.0
    settling.keep({})
    assert settling.due(20.0) is None
