"""Quantities; tests/contract/test_quantity.py asks a real API server the same."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values.malformed import Malformed
from windlass.values.quantity import Notation, Quantity

quantities = st.builds(Quantity, st.integers(-(10**24), 10**24), st.sampled_from(Notation))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("-0", "0"),
        ("1000m", "1"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("5.", "5"),
        ("+2", "2"),
        ("1500m", "1500m"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("1000Ki", "1000Ki"),
        ("0.5Ki", "512"),
        ("1.1Ki", "1126400m"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("12e2", "1200"),
        ("1500e-3", "1500e-3"),
        ("1E", "1E"),
        ("1000E", "1000E"),
        ("100u", "100u"),
        ("1n", "1n"),
        ("0.1n", "1n"),
        ("-1.5Gi", "-1536Mi"),
        ("-0.1n", "-1n"),
    ],
)
def test_a_quantity_is_printed_in_its_canonical_form(text: str, want: str) -> None:
    assert str(Quantity.parse(text)) == want


@pytest.mark.parametrize(
    "text", ["", "Gi", ".", "-", "1 Gi", "1gi", "1K", "1e", "1.2.3", "abc", "0x10", "1Gib", "1e999"]
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="quantity"):
        Quantity.parse(text)


def test_the_error_points_at_the_unit() -> None:
    with pytest.raises(Malformed, match="'gi' is no unit") as caught:
        Quantity.parse("16gi")
    assert caught.value.position == 2


def test_quantities_compare_by_value_and_not_by_spelling() -> None:
    assert Quantity.parse("1Gi") == Quantity.parse("1073741824") == Quantity.parse(1 << 30)
    assert hash(Quantity.parse("1Gi")) == hash(Quantity.parse(1 << 30))
    assert Quantity.parse("1G") < Quantity.parse("1Gi") < Quantity.parse("1.1G")


@pytest.mark.parametrize(
    ("text", "cores", "mebibytes"),
    [
        ("0", 0, 0),
        ("1m", 1, 1),
        ("1", 1, 1),
        ("1001m", 2, 1),
        ("1Mi", 1 << 20, 1),
        ("1048577", 1048577, 2),
        ("16Gi", 1 << 34, 16384),
    ],
)
def test_units_are_rounded_up(text: str, cores: int, mebibytes: int) -> None:
    quantity = Quantity.parse(text)
    assert (quantity.cores, quantity.mebibytes) == (cores, mebibytes)


@pytest.mark.parametrize(
    ("one", "other", "want"),
    [
        ("1Gi", "1Mi", "1025Mi"),
        ("500m", "500m", "1"),
        ("0", "1Gi", "1Gi"),
        ("1Gi", "1", "1073741825"),
    ],
)
def test_a_sum_keeps_the_spelling_of_its_first_part(one: str, other: str, want: str) -> None:
    assert str(Quantity.parse(one) + Quantity.parse(other)) == want


@given(quantities)
def test_a_printed_quantity_is_read_back_exactly(quantity: Quantity) -> None:
    assert Quantity.parse(str(quantity)) == quantity


@given(quantities, quantities)
def test_sums_are_exact(one: Quantity, other: Quantity) -> None:
    assert one + other - other == one
    assert (one + other).nano == one.nano + other.nano


@given(st.integers(1, 10**20), st.sampled_from([1, 2**20, 10**6]))
def test_something_is_never_rounded_to_nothing(nano: int, unit: int) -> None:
    units = Quantity(nano).ceil(unit)
    assert units >= 1
    assert units - 1 < Fraction(nano, unit * 10**9) <= units
