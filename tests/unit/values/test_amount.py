import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values import amount
from windlass.values.malformed import Malformed


@pytest.mark.parametrize(
    ("text", "want"),
    [("0", 0), ("4", 4), ("4K", 4096), ("4k", 4096), ("1M", 1 << 20), ("1.5K", 1536)],
)
def test_a_letter_of_a_count_is_a_factor_of_1024(text: str, want: int) -> None:
    assert amount.count(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("512", 512),
        ("512M", 512),
        ("16G", 16384),
        ("1T", 1 << 20),
        ("62.50G", 64000),
        ("1K", 1),
        ("0", 0),
    ],
)
def test_memory_is_in_mebibytes_and_never_rounded_to_nothing(text: str, want: int) -> None:
    assert amount.mebibytes(text) == want


@pytest.mark.parametrize("text", ["", "G", "4X", "-1", "4 K", "1e3", "0x4", "4KB"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="is no amount"):
        amount.count(text)


@pytest.mark.parametrize(
    ("number", "want"),
    [(0, "0M"), (1, "1M"), (1024, "1G"), (65535, "65535M"), (1536000, "1500G"), (1 << 40, "1024P")],
)
def test_memory_is_printed_as_slurm_prints_it(number: int, want: str) -> None:
    assert amount.print_mebibytes(number) == want


@given(st.integers(0, 1 << 50))
def test_printed_memory_is_read_back(number: int) -> None:
    assert amount.mebibytes(amount.print_mebibytes(number)) == number
