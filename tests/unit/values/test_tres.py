"""TRES strings, and whether one fits into another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values import gres
from windlass.values.malformed import Malformed
from windlass.values.tres import Tres

names = st.sampled_from(["cpu", "mem", "node", "billing", "gres/gpu:a", "gres/gpu:b", "license/x"])
some_tres = st.builds(Tres.of, st.dictionaries(names, st.integers(0, 10**6)))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", ""),
        ("N/A", ""),
        ("cpu=4,mem=16G,node=1,billing=4,gres/gpu=2", "cpu=4,mem=16G,node=1,billing=4,gres/gpu=2"),
        ("node=1,mem=65535M,cpu=8", "cpu=8,mem=65535M,node=1"),
        ("mem=1024", "mem=1G"),
        ("mem=512K", "mem=1M"),
        ("gres/gpu:h100=4", "gres/gpu=4,gres/gpu:h100=4"),
        ("gres/gpu=6,gres/gpu:h100=4", "gres/gpu=6,gres/gpu:h100=4"),
        ("gres/bandwidth=4K", "gres/bandwidth=4096"),
        ("cpu=0,license/matlab=2", "license/matlab=2"),
    ],
)
def test_resources_are_read_and_printed_in_slurms_order(text: str, want: str) -> None:
    assert str(Tres.parse(text)) == want


@pytest.mark.parametrize(
    ("text", "position"),
    [("cpu", 0), ("cpu=4,mem", 6), ("=4", 0), ("cpu=4,mem=4X", 10), ("cpu=", 4)],
)
def test_what_is_no_amount_is_refused_where_it_stands(text: str, position: int) -> None:
    with pytest.raises(Malformed, match="TRES") as caught:
        Tres.parse(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("here", "wanted", "fits"),
    [
        pytest.param("cpu=4,mem=1G", "cpu=4,mem=1G", True, id="exactly"),
        pytest.param("cpu=4", "cpu=5", False, id="too few"),
        pytest.param("cpu=4", "cpu=1,gres/gpu=1", False, id="none at all"),
        pytest.param("cpu=4", "", True, id="nothing always fits"),
        pytest.param("gres/gpu:h100=4", "gres/gpu=4", True, id="any type will do"),
        pytest.param("gres/gpu=4", "gres/gpu:h100=1", False, id="an untyped GPU is no h100"),
        pytest.param("gres/gpu:h100=1,gres/gpu:a100=1", "gres/gpu=2", True, id="one of each"),
        pytest.param("gres/gpu:h100=1,gres/gpu:a100=1", "gres/gpu:h100=2", False, id="two of one"),
    ],
)
def test_what_fits(here: str, wanted: str, fits: bool) -> None:
    assert Tres.parse(here).covers(Tres.parse(wanted)) is fits


def test_gpus_taken_without_a_type_are_gone_for_every_type() -> None:
    left = Tres.parse("gres/gpu:h100=4") - Tres.parse("gres/gpu=3")
    assert left.covers(Tres.parse("gres/gpu:h100=1"))
    assert not left.covers(Tres.parse("gres/gpu:h100=2"))


def test_a_total_of_nothing_is_not_forgotten() -> None:
    left = Tres.parse("gres/gpu:h100=4") - Tres.parse("gres/gpu=4")
    assert str(left) == "gres/gpu=0,gres/gpu:h100=4"
    assert Tres.parse(str(left)) == left
    assert not left.covers(Tres.parse("gres/gpu=1"))


def test_more_used_than_there_is_shows_as_less_than_nothing() -> None:
    left = Tres.parse("cpu=1,mem=1G") - Tres.parse("cpu=3")
    assert left.amount("cpu") == -2
    assert not left.covers(Tres.parse("cpu=1"))
    assert left.covers(Tres.parse("mem=1G"))


def test_gres_become_amounts_but_for_what_is_never_used_up() -> None:
    several = gres.parse("gpu:h100:2(IDX:0-1),gpu:h100:1,shard:8,bandwidth:no_consume:4")
    assert Tres.of_gres(several) == Tres.parse("gres/gpu:h100=3,gres/shard=8")


@given(some_tres)
def test_printed_resources_are_read_back(tres: Tres) -> None:
    assert Tres.parse(str(tres)) == tres


@given(some_tres, some_tres)
def test_what_was_added_can_be_taken_away(one: Tres, other: Tres) -> None:
    assert one + other - other == one
    assert one + other == other + one
    assert (one + other).covers(one)
