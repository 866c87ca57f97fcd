import pytest

from windlass.local.bridge import beside

WIDE = ("long line\nx", "right")


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        ("a\nbb", "c\nd\ne", "a    | c\nbb   | d\n     | e"),
        ("", "c", "   | c"),
        (*WIDE, "long line   | right\nx           |"),
    ],
)
def test_two_tables_stand_beside_each_other(left: str, right: str, both: str) -> None:
    assert beside(left, right) == both
