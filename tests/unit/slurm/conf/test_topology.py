"""topology.yaml."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.slurm.conf import Broken
from windlass.slurm.conf.topology import (
    Block,
    Blocks,
    Ring,
    Rings,
    Switch,
    Topology,
    Tree,
    parse,
    render,
)

TEXT = """\
- topology: racks
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: s[1-2]
      - {switch: s1, nodes: "w-[0-3]"}
      - {switch: s2, nodes: "w-[4-7]"}
- topology: nvl
  block:
    block_sizes: [4, 8]
    blocks:
      - {block: b1, nodes: "w-[0-3]"}
- topology: all
  flat: true
"""


def test_several_topologies_are_read() -> None:
    racks, nvl, flat = parse(TEXT)
    assert racks.cluster_default
    assert racks.tree == Tree(
        (Switch("root", children="s[1-2]"), Switch("s1", "w-[0-3]"), Switch("s2", "w-[4-7]"))
    )
    assert nvl.block == Blocks((Block("b1", "w-[0-3]"),), (4, 8))
    assert flat == Topology("all", flat=True)


def tree(switches: str) -> str:
    return f"- topology: t\n  tree:\n    switches: [{switches}]\n"


def blocks(inside: str) -> str:
    return f"- topology: t\n  block: {{{inside}}}\n"


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        ("- topology: [t", "", "line"),
        ("- topology: t\n", "[0]", "no topology in it"),
        ("- flat: true\n", "[0]", "missing required field `topology`"),
        ("- {topology: t, flat: true, fat: 1}\n", "[0]", "unknown field `fat`"),
        ("- {topology: t, flat: true}\n- {topology: t, flat: true}\n", "[1].topology", "too"),
        ("- {topology: '', flat: true}\n", "[0].topology", "empty"),
        (
            "- {topology: t, flat: true, cluster_default: true}\n" * 1
            + "- {topology: u, flat: true, cluster_default: true}\n",
            "[1].cluster_default",
            "[0] is it already",
        ),
        (
            "- {topology: t, flat: true, tree: {switches: [{switch: s}]}}\n",
            "[0]",
            "flat and tree exclude each other",
        ),
        (tree(""), "[0].tree.switches", "no switch"),
        (tree("{switch: s, nodes: 'n[1-'}"), "[0].tree.switches[0].nodes", "never closed"),
        (tree("{switch: s, nodes: [n1]}"), "[0].tree.switches[0].nodes", "Expected `str`"),
        (tree("{nodes: n1}"), "[0].tree.switches[0]", "missing required field `switch`"),
        (tree("{switch: s}, {switch: s}"), "[0].tree.switches[1].switch", "too"),
        (tree("{switch: s, children: x}"), "[0].tree.switches[0].children", "no switch x"),
        (tree("{switch: s, children: s}"), "[0].tree.switches[0].children", "its own child"),
        (
            tree("{switch: s, children: x, nodes: n}, {switch: x}"),
            "[0].tree.switches[0].children",
            "passes over the children",
        ),
        (blocks("blocks: [{block: b}, {block: b}]"), "[0].block.blocks[1].block", "too"),
        (blocks("block_sizes: [2, 3], blocks: []"), "[0].block.block_sizes[1]", "power of two"),
        (blocks("block_sizes: [0], blocks: []"), "[0].block.block_sizes[0]", "power of two"),
    ],
)
def test_a_fault_is_told_with_its_path(text: str, path: str, problem: str) -> None:
    with pytest.raises(Broken) as caught:
        parse(text)
    (fault,) = caught.value.faults
    assert fault.key == f"topologies{path}"
    assert fault.where.file == "topology.yaml"
    assert problem in fault.problem


words = st.from_regex(r"[a-z][a-z0-9-]{0,5}|y|no|1e3|0x1", fullmatch=True)
hosts = st.sampled_from(["n1", "n[1-4]", "n[01-02],x", ""])
unique = st.lists(words, min_size=1, max_size=3, unique=True)
kinds = st.one_of(
    st.just({"flat": True}),
    st.builds(
        lambda names, nodes: {"tree": Tree(tuple(Switch(name, nodes) for name in names))},
        unique,
        hosts,
    ),
    st.builds(
        lambda names, nodes: {"block": Blocks(tuple(Block(name, nodes) for name in names), (2, 4))},
        unique,
        hosts,
    ),
    st.builds(
        lambda names, nodes: {"ring": Rings(tuple(Ring(name, nodes) for name in names))},
        unique,
        hosts,
    ),
)


@given(unique, st.lists(kinds, min_size=3, max_size=3))
def test_what_is_written_reads_back_equal(
    names: list[str], shapes: list[dict[str, object]]
) -> None:
    some = tuple(
        Topology(name, cluster_default=at == 0, **shape)  # type: ignore[arg-type]
        for at, (name, shape) in enumerate(zip(names, shapes, strict=False))
    )
    assert parse(render(some)) == some
