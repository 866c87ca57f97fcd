"""GRES strings, most of them as slurmctld 26.05 printed them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values import gres
from windlass.values.gres import Gres
from windlass.values.malformed import Malformed

words = st.from_regex(r"[a-z][a-z0-9_.-]{0,6}", fullmatch=True).filter(lambda w: w != "no_consume")
notes = st.sampled_from(["", "IDX:0-3", "IDX:0,2-3", "IDX:N/A", "S:0-1", "2/8,0/8"])
several = st.lists(
    st.builds(Gres, words, st.just("") | words, st.integers(0, 99), notes, st.booleans())
)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("", ()),
        ("N/A", ()),
        ("(null)", ()),
        ("gpu", (Gres("gpu"),)),
        ("gpu:2", (Gres("gpu", "", 2),)),
        ("gpu:h100", (Gres("gpu", "h100"),)),
        ("gpu:h100:4(IDX:0-3)", (Gres("gpu", "h100", 4, "IDX:0-3"),)),
        ("gpu:h100:0(IDX:N/A)", (Gres("gpu", "h100", 0, "IDX:N/A"),)),
        ("gpu:a100:2(S:0)", (Gres("gpu", "a100", 2, "S:0"),)),
        ("bandwidth(CNT:1024)", (Gres("bandwidth", "", 1024),)),
        ("bandwidth:lustre:no_consume:4K", (Gres("bandwidth", "lustre", 4096, consumed=False),)),
        ("gres/gpu:h100=4", (Gres("gpu", "h100", 4),)),
        ("gres/gpu=2", (Gres("gpu", "", 2),)),
        ("gres:gpu:2", (Gres("gpu", "", 2),)),
        ("gpu:1g.5gb:2", (Gres("gpu", "1g.5gb", 2),)),
        (
            "gpu:h100:3(IDX:0-1,3),gpu:a100:1(IDX:4),shard:8",
            (
                Gres("gpu", "h100", 3, "IDX:0-1,3"),
                Gres("gpu", "a100", 1, "IDX:4"),
                Gres("shard", "", 8),
            ),
        ),
    ],
)
def test_every_way_slurm_writes_a_resource_is_read(text: str, want: tuple[Gres, ...]) -> None:
    assert gres.parse(text) == want


@pytest.mark.parametrize(
    ("note", "devices", "sockets"),
    [("IDX:0-1,3", 0b1011, None), ("IDX:N/A", 0, None), ("S:0", None, 1), ("", None, None)],
)
def test_devices_and_sockets_are_bitmaps(
    note: str, devices: int | None, sockets: int | None
) -> None:
    found = Gres("gpu", note=note)
    assert (found.devices, found.sockets) == (devices, sockets)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("gpu:2(IDX:0", 5),
        ("gpu:2)", 5),
        ("gpu:2(S:0)x", 10),
        (",gpu", 0),
        ("gpu,", 4),
        ("gpu::2", 0),
        (":2", 0),
        ("gpu:a:b:2", 0),
        ("shard:1,gpu=x", 8),
        ("gpu:1(IDX:x)", 0),
    ],
)
def test_what_is_no_resource_is_refused_where_it_stands(text: str, position: int) -> None:
    with pytest.raises(Malformed, match="gres") as caught:
        gres.parse(text)
    assert caught.value.position == position


@given(several)
def test_printed_resources_are_read_back(some: list[Gres]) -> None:
    assert gres.parse(",".join(map(str, some))) == tuple(some)
