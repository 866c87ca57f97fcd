"""Hostlists; tests/contract/test_hostlist.py holds the same functions against Slurm itself."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values.hostlist import MAX_NAMES, expand, fold
from windlass.values.malformed import Malformed

stems = st.from_regex(r"[a-z]([a-z.-]|[0-9]){0,5}", fullmatch=True)
tails = st.builds("{:0{}d}".format, st.integers(0, 120), st.integers(1, 4))
names = st.lists(st.one_of(stems, st.builds(str.__add__, st.sampled_from(["a", "w-"]), tails)))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("a", "a", id="a name without a number"),
        pytest.param(
            "w-[000-002,20],x3", "w-000 w-001 w-002 w-20 x3", id="zeros in front are kept"
        ),
        pytest.param("a[09-11]", "a09 a10 a11", id="the width of the first number rules"),
        pytest.param("a[9-010]", "a9 a10", id="also where the last is wider"),
        pytest.param("a[8-10]", "a8 a9 a10", id="no zeros, no width"),
        pytest.param("a[0,00]", "a0 a00", id="two widths are two nodes"),
        pytest.param("r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02", id="two brackets"),
        pytest.param("a[1-2].dom", "a1.dom a2.dom", id="text after the bracket"),
        pytest.param("a[3,1,2,1]", "a3 a1 a2 a1", id="order and duplicates are kept"),
        pytest.param(" a,, b\tc\n", "a b c", id="blanks and empty places are nothing"),
        pytest.param("[1-2]", "1 2", id="names that are numbers"),
        pytest.param(f"a[{'0' * 20}1-2]", f"a{'0' * 20}1 a{'0' * 20}2", id="many zeros"),
        pytest.param("a[99999999999999999999]", "a99999999999999999999", id="not clamped"),
    ],
)
def test_a_hostlist_expands_in_rank_order(text: str, want: str) -> None:
    assert expand(text) == tuple(want.split())


def test_of_three_brackets_the_last_turns_fastest_and_then_the_first() -> None:
    """Odd, but Slurm's order, and the order is the rank."""
    want = "a1b1c1 a1b1c2 a2b1c1 a2b1c2 a1b2c1 a1b2c2 a2b2c1 a2b2c2"
    assert expand("a[1-2]b[1-2]c[1-2]") == tuple(want.split())


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("a[1", 1, "never closed"),
        ("a[1-2],b[3", 8, "never closed"),
        ("a1]", 2, "closes nothing"),
        ("a[[1]]", 1, "within brackets"),
        ("a[3-1]", 2, "runs downward"),
        ("a[0,3-1]", 4, "runs downward"),
        ("a[]", 2, "a number is missing"),
        ("a[1,]", 4, "a number is missing"),
        ("a[1-]", 2, "no number and no range"),
        ("a[x]", 2, "no number and no range"),
        ("a[1 - 2]", 2, "no number and no range"),
        ("a[\u0661-\u0662]", 2, "no number and no range"),
        ("a[0-9999999999999999999]", 2, "too many digits"),
    ],
)
def test_a_malformed_hostlist_is_refused_where_it_goes_wrong(
    text: str, position: int, problem: str
) -> None:
    with pytest.raises(Malformed, match=problem) as caught:
        expand(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "text",
    [
        "n[0-99999999]",
        "n[0-65536]",
        "n[0-65535],m",
        "r[0-65535]n[0-65535]",
        "n[0-40000,0-40000]",
        "a[0-9]" * 30,
    ],
)
def test_more_names_than_slurm_has_nodes_are_refused_before_they_are_made(text: str) -> None:
    with pytest.raises(Malformed, match="more than 65536 names"):
        expand(text)


@pytest.mark.parametrize("text", ["x" * 256, "x" * 100_000 + "[0-65535]", f"a[{'0' * 254}1,2]b"])
def test_a_name_longer_than_any_host_is_refused_before_it_is_multiplied(text: str) -> None:
    with pytest.raises(Malformed, match="more than 255 characters"):
        expand(text)


def test_the_caller_may_set_a_lower_limit() -> None:
    assert len(expand("n[0-9]", limit=10)) == 10
    with pytest.raises(Malformed, match="more than 9 names"):
        expand("n[0-9]", limit=9)


@pytest.mark.parametrize(
    ("given_names", "want"),
    [
        ("", ""),
        ("host", "host"),
        ("x3", "x3"),
        ("b2 b1", "b[2,1]"),
        ("a1 a2 a3 a5", "a[1-3,5]"),
        ("a09 a10 a11", "a[09-11]"),
        ("a9 a10", "a[9-10]"),
        ("a99 a100", "a[99-100]"),
        ("a9 a010", "a[9,010]"),
        ("a00 a1", "a[00,1]"),
        ("a1 a1 a2", "a[1,1-2]"),
        ("a a a1", "a,a,a1"),
        ("a1 b1 a2", "a1,b1,a2"),
        ("a1b a2b", "a1b,a2b"),
        ("r1n1 r1n2 r2n1", "r1n[1-2],r2n1"),
    ],
)
def test_names_fold_without_being_sorted(given_names: str, want: str) -> None:
    assert fold(given_names.split()) == want


def test_a_run_longer_than_slurm_reads_is_split() -> None:
    assert fold(f"n{number}" for number in range(MAX_NAMES + 2)) == "n[0-65535,65536-65537]"


def test_numbers_beyond_64_bits_are_left_alone() -> None:
    huge = ["a99999999999999999998", "a99999999999999999999"]
    assert expand(fold(huge)) == tuple(huge)


@pytest.mark.parametrize("name", ["", "a,b", "a[1]", "a b"])
def test_a_name_that_a_hostlist_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(Malformed, match="node name"):
        fold(["fine", name])


@given(names)
def test_what_is_folded_expands_to_the_same_names_in_the_same_order(some: list[str]) -> None:
    assert expand(fold(some)) == tuple(some)


@given(st.text(alphabet="ab019-,[] ", max_size=12))
def test_any_text_is_either_names_or_a_clear_error(text: str) -> None:
    try:
        found = expand(text)
    except Malformed:
        return
    assert expand(fold(found)) == found


@given(st.integers(0, 10_000), st.integers(1, 500))
def test_a_plain_range_is_one_item(start: int, count: int) -> None:
    folded = fold(f"w-{number}" for number in range(start, start + count))
    assert "," not in folded
    numbers = [int(name.removeprefix("w-")) for name in expand(folded)]
    assert all(after == before + 1 for before, after in pairwise(numbers))
