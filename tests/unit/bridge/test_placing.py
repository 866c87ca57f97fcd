import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.bridge.gang import Member
from windlass.bridge.placing import Place, Placement, Room, place, places
from windlass.bridge.resources import Needs
from windlass.slurm.model import GresAllocation, NodeAllocation
from windlass.values.gres import Gres


def members(*cpus: int) -> list[Member]:
    return [Member(rank, Needs(count)) for rank, count in enumerate(cpus)]


def rooms(*cpus: int) -> list[Place]:
    return [Place(f"n{number}", Room(count)) for number, count in enumerate(cpus)]


def seats(placement: Placement) -> str:
    """The nodes in the order of ranks, by number."""
    return "".join(node[1:] for _, node in sorted(placement.seats.items()))


@pytest.mark.parametrize(
    ("cpus", "nodes", "where"),
    [
        ((1,), (1,), "0"),
        ((1, 1, 1), (1, 1, 1), "012"),
        ((1, 1, 1, 1), (2, 2), "0011"),
        ((1, 1, 1, 1), (4, 4), "0011"),
        ((1, 1, 1), (4, 4), "001"),
        ((1, 1, 1, 1), (4, 1), "0001"),
        ((1, 1, 1, 1), (1, 4), "0111"),
        ((1, 1), (4, 4, 4), "01"),
        ((3, 3, 3, 3, 3), (6, 4, 4, 4), "00123"),
        ((4, 1, 1, 1), (4, 4, 4, 4), "0123"),
        ((2, 1, 1), (2, 2), "011"),
    ],
)
def test_ranks_follow_the_order_of_nodes(
    cpus: tuple[int, ...], nodes: tuple[int, ...], where: str
) -> None:
    found = place(members(*cpus), rooms(*nodes))
    assert seats(found) == where
    assert not found.unplaced


def test_nodes_keep_slurms_order_and_not_that_of_their_names() -> None:
    given = [Place("z", Room(1)), Place("a", Room(1))]
    assert place(members(1, 1), given).seats == {0: "z", 1: "a"}


def test_who_has_no_room_is_named() -> None:
    found = place(members(1, 2, 1), rooms(2))
    assert seats(found) == "00"
    assert [member.index for member in found.unplaced] == [1]


def test_a_list_of_nodes_alone_is_shared_evenly() -> None:
    given = [Place("n0"), Place("n1")]
    assert seats(place(members(1, 9, 1, 1, 1), given)) == "00011"


@pytest.mark.parametrize(
    ("bound", "where"),
    [
        ({0: "n0"}, "0011"),
        ({3: "n1", 0: "n0"}, "0011"),
        ({0: "n1"}, "1001"),
        ({0: "n1", 1: "n1"}, "1100"),
        ({9: "n1"}, "0011"),
    ],
)
def test_who_has_a_place_keeps_it(bound: dict[int, str], where: str) -> None:
    assert seats(place(members(1, 1, 1, 1), rooms(2, 2), bound)) == where


def test_a_pod_made_anew_takes_the_place_of_the_one_before() -> None:
    all_of_them = place(members(1, 1, 1, 1), rooms(2, 2))
    others = {index: node for index, node in all_of_them.seats.items() if index != 2}
    assert place(members(1, 1, 1, 1), rooms(2, 2), others) == all_of_them


def test_slurms_allocation_says_how_much_room_there_is() -> None:
    given = [
        NodeAllocation("h-0", 1, 4, 400, "0x3", (GresAllocation("gpu", "x", 2, "0-1"),)),
        NodeAllocation("h-1", 1, 4, 0, "", ()),
    ]
    assert places(given, {"h-0": 2}) == (
        Place("h-0", Room(4, 400, (Gres("gpu", "x", 2),))),
        Place("h-1", Room(None, None, ())),
    )


@pytest.mark.parametrize(
    ("held", "needs", "times"),
    [
        ((Gres("gpu", "x", 4),), (Gres("gpu", "", 2),), 2),
        ((Gres("gpu", "x", 4),), (Gres("gpu", "x", 3),), 1),
        ((Gres("gpu", "x", 4),), (Gres("gpu", "y", 1),), 0),
        ((Gres("gpu", "x", 2), Gres("gpu", "y", 2)), (Gres("gpu", "", 4),), 1),
        ((), (Gres("gpu", "", 1),), 0),
        ((), (), 8),
        (None, (Gres("gpu", "", 1),), 8),
    ],
)
def test_devices_are_counted_by_name_and_type(
    held: tuple[Gres, ...] | None, needs: tuple[Gres, ...], times: int
) -> None:
    assert Room(8, None, held).times(Needs(1, None, needs)) == times


# --- for all gangs and all allocations -------------------------------------------------------

needs = st.builds(
    Needs,
    st.integers(1, 4),
    st.none() | st.integers(1, 40),
    st.sampled_from([(), (Gres("gpu", "", 1),), (Gres("gpu", "x", 2),), (Gres("gpu", "y", 1),)]),
)
gangs = st.lists(needs, max_size=12).map(
    lambda several: [Member(rank, each) for rank, each in enumerate(several)]
)
gres = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(
    lambda count: (Gres("gpu", "x", count[0]), Gres("gpu", "y", count[1]))
)
allocations = st.lists(
    st.builds(Room, st.integers(0, 9), st.none() | st.integers(0, 99), gres), max_size=6
).map(lambda several: [Place(f"n{at}", room) for at, room in enumerate(several)])
bindings = st.dictionaries(st.integers(0, 12), st.sampled_from(["n0", "n1", "n2", "gone"]))


def used(node: str, placement: Placement, gang: list[Member]) -> list[Needs]:
    return [member.needs for member in gang if placement.seats.get(member.index) == node]


def within(room: Room, several: list[Needs]) -> bool:
    """Written without the code under test: sums, and Hall's condition for the devices."""
    wanted: dict[str, int] = {"": 0, "x": 0, "y": 0}
    for each in several:
        for one in each.gres:
            wanted[one.type] += one.count
    held = {one.type: one.count for one in room.gres or ()}
    return (
        sum(each.cpus for each in several) <= (room.cpus or 0)
        and (room.memory is None or sum(each.memory or 0 for each in several) <= room.memory)
        and all(wanted[kind] <= held.get(kind, 0) for kind in ("x", "y"))
        and sum(wanted.values()) <= sum(held.values())
    )


@given(gangs, allocations)
def test_no_node_gets_more_than_the_job_holds_there(gang: list[Member], given: list[Place]) -> None:
    found = place(gang, given)
    for each in given:
        assert within(each.room, used(each.node, found, gang))


@given(gangs, allocations, bindings)
def test_those_that_are_bound_stay_and_the_others_take_what_is_left(
    gang: list[Member], given: list[Place], bound: dict[int, str]
) -> None:
    found = place(gang, given, bound)
    kept = {member.index: bound[member.index] for member in gang if member.index in bound}
    assert kept.items() <= found.seats.items()
    for each in given:
        there = used(each.node, found, gang)
        before = [m.needs for m in gang if kept.get(m.index) == each.node]
        if within(each.room, before):
            assert within(each.room, there)


@given(gangs, allocations)
def test_everybody_is_either_placed_or_named(gang: list[Member], given: list[Place]) -> None:
    found = place(gang, given)
    left = [member.index for member in found.unplaced]
    assert sorted([*found.seats, *left]) == [member.index for member in gang]


@given(gangs, allocations, st.randoms())
def test_the_answer_is_the_same_whatever_the_order_of_pods_and_whoever_is_bound_by_it(
    gang: list[Member], given: list[Place], random: st.DataObject
) -> None:
    found = place(gang, given)
    shuffled = list(gang)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    some = {i: node for i, node in found.seats.items() if random.random() < 0.5}  # type: ignore[attr-defined]
    assert place(shuffled, given, some) == found


@given(st.integers(1, 30), st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_ranks_are_in_order_and_nobody_is_left_out_where_there_is_room(
    count: int, cores: list[int]
) -> None:
    gang, given = members(*[1] * count), rooms(*cores)
    found = place(gang, given)
    nodes = [int(found.seats[rank][1:]) for rank in sorted(found.seats)]
    assert nodes == sorted(nodes)
    assert len(nodes) == min(count, sum(cores))
    if count >= len(cores):
        assert set(nodes) == set(range(len(cores)))
