import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values import bitmap
from windlass.values.malformed import Malformed

sets = st.sets(st.integers(0, 300))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", set()),
        ("N/A", set()),
        ("0", {0}),
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("8,0-1,1", {0, 1, 8}),
        ("0x0", set()),
        ("0x0f", {0, 1, 2, 3}),
        ("0X10F", {0, 1, 2, 3, 8}),
    ],
)
def test_lists_and_masks_are_read(text: str, want: set[int]) -> None:
    assert set(bitmap.indices(bitmap.parse(text))) == want


@pytest.mark.parametrize(
    ("text", "position"),
    [("a", 0), ("0-3,", 4), ("0,3-1", 2), ("0x", 2), ("0xg", 2), ("0-99999999", 0), ("-1", 0)],
)
def test_what_is_no_bitmap_is_refused_where_it_goes_wrong(text: str, position: int) -> None:
    with pytest.raises(Malformed, match="bitmap") as caught:
        bitmap.parse(text)
    assert caught.value.position == position


def test_a_mask_too_long_to_be_cores_is_refused() -> None:
    with pytest.raises(Malformed, match="bits"):
        bitmap.parse("0x" + "f" * bitmap.MAX_BITS)


@given(sets)
def test_every_set_is_printed_and_read_back(some: set[int]) -> None:
    bits = bitmap.of(some)
    assert list(bitmap.indices(bits)) == sorted(some)
    assert bitmap.count(bits) == len(some)
    assert bitmap.parse(bitmap.ranges(bits)) == bits
    assert bitmap.parse(bitmap.hexadecimal(bits)) == bits


@given(sets, sets)
def test_integers_are_the_set_algebra(one: set[int], other: set[int]) -> None:
    both = bitmap.of(one) & bitmap.of(other)
    assert set(bitmap.indices(both)) == one & other
