from hypothesis import given
from hypothesis import strategies as st

from windlass.bridge.gang import Member
from windlass.bridge.resources import Needs
from windlass.bridge.sharing import Device, Share, share
from windlass.slurm.model import GresAllocation, NodeAllocation
from windlass.values import bitmap
from windlass.values.gres import Gres

TWO_GPUS = (Gres("gpu", "", 2),)


def on_node(cores: str, *gres: GresAllocation) -> NodeAllocation:
    return NodeAllocation("n0", 1, 64, 0, cores, gres)


def written(shares: dict[int, Share]) -> list[str]:
    """CPUs, then devices, of each in the order of ranks."""
    return [
        " ".join(
            [
                bitmap.ranges(one.cpus),
                *(f"{each.name}:{each.type}:{bitmap.ranges(each.numbers)}" for each in one.devices),
            ]
        )
        for _, one in sorted(shares.items())
    ]


def test_cpus_and_devices_are_dealt_out_in_the_order_of_ranks() -> None:
    node = on_node("0xF0", GresAllocation("gpu", "x", 4, "1-2,5-6"))
    members = [Member(7, Needs(2, None, TWO_GPUS)), Member(3, Needs(2, None, TWO_GPUS))]
    assert written(share(node, members)) == ["4-5 gpu:x:1-2", "6-7 gpu:x:5-6"]


def test_two_pods_may_have_the_threads_of_one_core() -> None:
    members = [Member(rank, Needs(1)) for rank in range(3)]
    assert written(share(on_node("0x5"), members, threads=2)) == ["0", "1", "4"]


def test_a_type_is_only_given_devices_of_that_type() -> None:
    node = on_node("0xF", GresAllocation("gpu", "x", 1, "0"), GresAllocation("gpu", "y", 2, "1-2"))
    members = [
        Member(0, Needs(1, None, (Gres("gpu", "y", 1),))),
        Member(1, Needs(1, None, TWO_GPUS)),
    ]
    assert written(share(node, members)) == ["0 gpu:y:1", "1 gpu:x:0 gpu:y:2"]


def test_who_takes_any_device_leaves_those_that_others_need() -> None:
    node = on_node("0x3", GresAllocation("gpu", "x", 1, "0"), GresAllocation("gpu", "y", 1, "1"))
    members = [
        Member(0, Needs(1, None, (Gres("gpu", "", 1),))),
        Member(1, Needs(1, None, (Gres("gpu", "x", 1),))),
    ]
    assert written(share(node, members)) == ["0 gpu:y:1", "1 gpu:x:0"]


def test_whoever_has_some_keeps_them() -> None:
    node = on_node("0xF", GresAllocation("gpu", "x", 2, "0-1"))
    members = [Member(rank, Needs(2, None, (Gres("gpu", "", 1),))) for rank in range(2)]
    held = {1: Share(0b0011, (Device("gpu", "x", 0b01),))}
    assert written(share(node, members, held=held)) == ["2-3 gpu:x:1", "0-1 gpu:x:0"]


def test_devices_of_one_kind_may_be_told_in_parts() -> None:
    parts = GresAllocation("gpu", "x", 1, "0"), GresAllocation("gpu", "x", 1, "3")
    assert written(share(on_node("0x1", *parts), [Member(0, Needs(1, None, TWO_GPUS))])) == [
        "0 gpu:x:0,3"
    ]


def test_devices_that_slurm_does_not_number_are_not_dealt_out() -> None:
    node = on_node("0x1", GresAllocation("gpu", "", 2, ""))
    assert written(share(node, [Member(0, Needs(1, None, TWO_GPUS))])) == ["0"]


needs = st.builds(
    Needs,
    st.integers(1, 4),
    st.none(),
    st.sampled_from(
        [
            (),
            TWO_GPUS,
            (Gres("gpu", "x", 1),),
            (Gres("nic", "", 1),),
            (Gres("gpu", "x", 1), Gres("nic", "", 1)),
        ]
    ),
)
members = st.lists(needs, max_size=6).map(
    lambda several: [Member(rank, each) for rank, each in enumerate(several)]
)
nodes = st.builds(
    lambda cores, x, y, nic: on_node(
        hex(cores),
        GresAllocation("gpu", "x", x.bit_count(), bitmap.ranges(x)),
        GresAllocation("gpu", "y", y.bit_count(), bitmap.ranges(y << 8)),
        GresAllocation("nic", "", nic.bit_count(), bitmap.ranges(nic)),
    ),
    *[st.integers(0, 255)] * 4,
)


@given(nodes, members, st.integers(1, 2), st.sets(st.integers(0, 5)))
def test_nothing_goes_to_two_pods_and_nothing_is_given_that_the_job_does_not_hold(
    node: NodeAllocation, several: list[Member], threads: int, early: set[int]
) -> None:
    first = share(node, [member for member in several if member.index in early], threads)
    shares = share(node, several, threads, first)

    assert first.items() <= shares.items()
    cores = bitmap.parse(node.core_bitmap)
    used, devices = 0, {(one.name, one.type): bitmap.parse(one.index) for one in node.gres}
    for member in several:
        got = shares[member.index]
        assert not used & got.cpus
        used |= got.cpus
        assert bitmap.count(got.cpus) <= member.needs.cpus
        for device in got.devices:
            assert device.numbers & ~devices[device.name, device.type] == 0
            devices[device.name, device.type] &= ~device.numbers
    assert all(cores >> (cpu // threads) & 1 for cpu in bitmap.indices(used))
    wanted = sum(member.needs.cpus for member in several)
    assert bitmap.count(used) == min(wanted, bitmap.count(cores) * threads)


@given(nodes, members)
def test_all_get_their_devices_where_there_are_enough(
    node: NodeAllocation, several: list[Member]
) -> None:
    held = {(one.name, one.type): one.count for one in node.gres}
    wanted: dict[tuple[str, str], int] = {}
    for member in several:
        for one in member.needs.gres:
            wanted[one.name, one.type] = wanted.get((one.name, one.type), 0) + one.count
    exact = wanted.get(("gpu", "x"), 0)
    enough = (
        exact <= held["gpu", "x"]
        and exact + wanted.get(("gpu", ""), 0) <= held["gpu", "x"] + held["gpu", "y"]
        and wanted.get(("nic", ""), 0) <= held["nic", ""]
    )
    shares = share(node, several)
    got = all(
        sum(bitmap.count(each.numbers) for each in shares[member.index].devices)
        == sum(one.count for one in member.needs.gres)
        for member in several
    )
    assert got is enough
