import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.bridge.nodes import Choice, choose
from windlass.values.hostlist import expand
from windlass.values.reason import Reason

ALL = [f"n{number}" for number in range(100)]


@pytest.mark.parametrize(
    ("feasible", "least", "choice"),
    [
        (ALL, 1, Choice()),
        ([*ALL, "unknown"], 1, Choice()),
        (ALL[:90], 1, Choice(required="n[0-89]")),
        ([n for n in ALL if n not in ("n7", "n50")], 1, Choice(excluded="n[7,50]")),
        (["n7"], 1, Choice(required="n7", most=1)),
        (["n10", "n9", "n8"], 2, Choice(required="n[8-10]")),
        (["n10", "n9", "n8"], 3, Choice(required="n[8-10]", most=3)),
    ],
)
def test_the_shorter_of_both_lists_is_sent(feasible: list[str], least: int, choice: Choice) -> None:
    assert choose(ALL, feasible, least) == choice


@pytest.mark.parametrize(
    ("feasible", "least", "why"),
    [
        ([], 1, "NoNodeFits: none of 100 nodes takes the pods"),
        (["unknown"], 1, "NoNodeFits: none of 100 nodes takes the pods"),
        (["n1", "n2"], 3, "TooFewNodesFit: 2 nodes take the pods, and 3 are needed"),
    ],
)
def test_where_no_node_will_do_it_says_so(feasible: list[str], least: int, why: str) -> None:
    assert str(choose(ALL, feasible, least)) == why


@given(st.sets(st.sampled_from(ALL)), st.integers(1, 4))
def test_a_job_may_have_exactly_the_nodes_that_take_its_pods(
    feasible: set[str], least: int
) -> None:
    choice = choose(ALL, feasible, least)
    if isinstance(choice, Reason):
        assert len(feasible) < least
        return
    left = set(expand(choice.required)) or set(ALL) - set(expand(choice.excluded))
    assert left == feasible
    if choice.required and len(feasible) <= least:
        assert choice.most == len(feasible)
