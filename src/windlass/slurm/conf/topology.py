"""topology.yaml: several named topologies, each a tree, blocks, rings, a torus or flat.

Slurm passes over a field that it does not know and a second default; both are refused here.

>>> text = "- topology: racks\\n  tree:\\n    switches:\\n      - {switch: s1, nodes: 'w-[3-1]'}\\n"
>>> parse(text)
Traceback (most recent call last):
windlass.slurm.conf.faults.Broken: topology.yaml: topologies[0].tree.switches[0].nodes: \
the range 3-1 runs downward; write 1-3, or list the numbers to count down
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from windlass.slurm.conf.faults import Broken, Fault, Where
from windlass.values import hostlist
from windlass.values.malformed import Malformed

FILE: Final = "topology.yaml"
_KINDS: Final = ("flat", "tree", "block", "ring", "torus3d")


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Switch(_Part, frozen=True):
    """A leaf has nodes, any other switch has children; both are hostlists."""

    switch: str
    nodes: str = ""
    children: str = ""


class Tree(_Part, frozen=True):
    switches: tuple[Switch, ...]


class Block(_Part, frozen=True):
    block: str
    nodes: str = ""


class Blocks(_Part, frozen=True):
    """The sizes are those of aggregated blocks: each is the first times a power of two."""

    blocks: tuple[Block, ...]
    block_sizes: tuple[int, ...] = ()


class Ring(_Part, frozen=True):
    ring: str
    nodes: str = ""


class Rings(_Part, frozen=True):
    rings: tuple[Ring, ...]


class Topology(_Part, frozen=True):
    """Exactly one of flat, tree, block, ring and torus3d is given."""

    topology: str
    cluster_default: bool = False
    flat: bool = False
    tree: Tree | None = None
    block: Blocks | None = None
    ring: Rings | None = None
    torus3d: dict[str, object] | None = None


def parse(text: str) -> tuple[Topology, ...]:
    """Read the whole file, or raise `Broken` with every fault and its path."""
    try:
        read = msgspec.yaml.decode(text, type=tuple[Topology, ...])
    except msgspec.ValidationError as error:
        raise Broken([_mistyped(str(error))]) from None
    except msgspec.DecodeError as error:
        raise Broken([_fault("", " ".join(str(error).split()), "write YAML")]) from None
    if found := check(read):
        raise Broken(found)
    return read


def render(topologies: Iterable[Topology]) -> str:
    return msgspec.yaml.encode(list(topologies)).decode()


def _mistyped(message: str) -> Fault:
    problem, _, path = message.partition(" - at `$")
    return _fault(
        path.rstrip("`"), problem.replace("Object", "it"), "look at the name and the type"
    )


def _fault(path: str, problem: str, fix: str) -> Fault:
    return Fault(Where(FILE), f"topologies{path}", problem, fix)


# --- what the types cannot say ------------------------------------------------------------------


def check(topologies: tuple[Topology, ...]) -> tuple[Fault, ...]:
    """What Slurm would refuse, or would take for something else than was meant."""
    names = _repeated("topology", [(f"[{at}]", one.topology) for at, one in enumerate(topologies)])
    return (*names, *_defaults(topologies), *_each(topologies))


def _defaults(topologies: tuple[Topology, ...]) -> Iterator[Fault]:
    chosen = [at for at, one in enumerate(topologies) if one.cluster_default]
    for at in chosen[1:]:
        yield _fault(f"[{at}].cluster_default", f"[{chosen[0]}] is it already", "keep one default")


def _each(topologies: tuple[Topology, ...]) -> Iterator[Fault]:
    for at, one in enumerate(topologies):
        yield from _one_kind(f"[{at}]", one)
        if one.tree is not None:
            yield from _tree(f"[{at}].tree", one.tree)
        if one.block is not None:
            yield from _blocks(f"[{at}].block", one.block)
        if one.ring is not None:
            rings = [(ring.ring, ring.nodes) for ring in one.ring.rings]
            yield from _groups(f"[{at}].ring.rings", "ring", rings)


def _one_kind(path: str, one: Topology) -> Iterator[Fault]:
    given = [kind for kind in _KINDS if getattr(one, kind) not in (None, False)]
    if not given:
        yield _fault(path, "there is no topology in it", f"give one of {', '.join(_KINDS)}")
    if len(given) > 1:
        yield _fault(path, f"{' and '.join(given)} exclude each other", "keep one of them")


def _tree(path: str, tree: Tree) -> Iterator[Fault]:
    if not tree.switches:
        yield _fault(f"{path}.switches", "there is no switch", "give at least one")
    groups = [(switch.switch, switch.nodes) for switch in tree.switches]
    yield from _groups(f"{path}.switches", "switch", groups)
    known = {switch.switch for switch in tree.switches}
    for at, switch in enumerate(tree.switches):
        yield from _children(f"{path}.switches[{at}].children", switch, known)


def _children(path: str, switch: Switch, known: set[str]) -> Iterator[Fault]:
    if switch.nodes and switch.children:
        yield _fault(path, "Slurm passes over the children of a switch with nodes", "drop one")
    yield from _hosts(path, switch.children, lambda name: _child(name, switch, known))


def _child(name: str, switch: Switch, known: set[str]) -> str:
    if name == switch.switch:
        return f"{name} is its own child"
    return "" if name in known else f"there is no switch {name}"


def _blocks(path: str, blocks: Blocks) -> Iterator[Fault]:
    groups = [(block.block, block.nodes) for block in blocks.blocks]
    yield from _groups(f"{path}.blocks", "block", groups)
    for at, size in enumerate(blocks.block_sizes):
        if not _doubled(blocks.block_sizes[0], size):
            problem = f"{size} is not {blocks.block_sizes[0]} times a power of two"
            yield _fault(f"{path}.block_sizes[{at}]", problem, "double the first size")


def _doubled(first: int, size: int) -> bool:
    times, rest = divmod(size, first) if first > 0 else (0, 0)
    return rest == 0 and times > 0 and times & (times - 1) == 0


def _groups(path: str, kind: str, groups: list[tuple[str, str]]) -> Iterator[Fault]:
    yield from _repeated(kind, [(f"{path}[{at}]", name) for at, (name, _) in enumerate(groups)])
    for at, (_, nodes) in enumerate(groups):
        yield from _hosts(f"{path}[{at}].nodes", nodes, lambda _: "")


def _hosts(path: str, text: str, problem_of: Callable[[str], str]) -> Iterator[Fault]:
    try:
        names = hostlist.expand(text)
    except Malformed as error:
        yield _fault(path, error.problem, error.fix)
        return
    for problem in filter(None, map(problem_of, names)):
        yield _fault(path, problem, "name another switch of this topology")


def _repeated(kind: str, names: list[tuple[str, str]]) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for path, name in names:
        if not name:
            yield _fault(f"{path}.{kind}", "the name is empty", "give it one")
        elif name in seen:
            problem = f"{name!r} is the name of topologies{seen[name]} too"
            yield _fault(f"{path}.{kind}", problem, "choose another")
        seen[name] = path
