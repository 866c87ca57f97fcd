import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.bridge.nodes import Choice, choose
from windlass.values.hostlist import expand
from windlass.values.reason import Reason

ALL = [f"n{number}" for number in range(100)]
KNOWN = frozenset(ALL)


@pytest.mark.parametrize(
    ("feasible", "least", "most", "choice"),
    [
        (ALL, 1, 1, Choice()),
        ([*ALL, "unknown"], 1, 1, Choice()),
        (ALL[:90], 1, 1, Choice(required="n[0-89]")),
        ([n for n in ALL if n not in ("n7", "n50")], 1, 1, Choice(excluded="n[7,50]")),
        (["n7"], 1, 1, Choice(required="n7")),
        (["n10", "n9", "n8"], 2, None, Choice(required="n[8-10]")),
        (["n10", "n9", "n8"], 3, 3, Choice(required="n[8-10]")),
    ],
)
def test_the_shorter_of_both_lists_is_sent(
    feasible: list[str], least: int, most: int | None, choice: Choice
) -> None:
    assert choose(KNOWN, frozenset(feasible), least, most) == choice


@pytest.mark.parametrize("most", [None, 2])
def test_a_list_that_would_be_a_demand_and_no_bound_is_turned_round(most: int | None) -> None:
    assert choose(KNOWN, frozenset({"n7"}), 1, most) == Choice(excluded="n[0-6,8-99]")


@pytest.mark.parametrize(
    ("feasible", "least", "why"),
    [
        ([], 1, "NoNodeFits: none of 100 nodes takes the pods"),
        (["unknown"], 1, "NoNodeFits: none of 100 nodes takes the pods"),
        (["n1", "n2"], 3, "TooFewNodesFit: 2 nodes take the pods, and 3 are needed"),
    ],
)
def test_where_no_node_will_do_it_says_so(feasible: list[str], least: int, why: str) -> None:
    assert str(choose(KNOWN, frozenset(feasible), least, None)) == why


@given(st.sets(st.sampled_from(ALL)), st.integers(1, 4), st.none() | st.integers(0, 3))
def test_a_job_may_have_exactly_the_nodes_that_take_its_pods(
    feasible: set[str], least: int, more: int | None
) -> None:
    most = None if more is None else least + more
    choice = choose(KNOWN, frozenset(feasible), least, most)
    if isinstance(choice, Reason):
        assert len(feasible) < least
        return
    left = set(expand(choice.required)) or set(ALL) - set(expand(choice.excluded))
    assert left == feasible
    if choice.required:
        assert len(feasible) > least or most == least
