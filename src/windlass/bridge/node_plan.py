"""What is to be done about Slurm's external nodes, decided for all of them at once. Pure.

A node that goes, or has to be made anew, is drained first and waited for: no job is cancelled. A
drain that somebody else gave a reason to is never undone, and such a node is not made anew.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from windlass.bridge import words
from windlass.bridge.devices import DeviceMap
from windlass.bridge.external import External, external
from windlass.bridge.names import names
from windlass.bridge.neighbours import Neighbourhood
from windlass.bridge.slices import NOTHING
from windlass.kube.objects import Node
from windlass.slurm import model
from windlass.slurm.specs import NodeUpdate

OURS: Final = "slurm-bridge:"
"""How the reason of a drain begins that is ours, as Slinky's did."""
COMMENT: Final = "windlass-bridge of "
CORDONED: Final = f"{OURS} cordoned in Kubernetes"
NOT_READY: Final = f"{OURS} not ready in Kubernetes"
GOES: Final = f"{OURS} no node of Kubernetes any more"
CHANGES: Final = f"{OURS} made anew with what the node has now"
NO_FEATURE: Final = ("",)
NOBODY: Final = Neighbourhood()


@dataclass(frozen=True, slots=True)
class NodeRules:
    cluster: str
    devices: DeviceMap
    conditions: tuple[str, ...] = ()
    """Conditions of Kubernetes nodes that drain them while they are true."""
    taint: str = ""
    """The scheduler in whose name nodes are tainted; empty where they are not."""
    partition: str = ""
    """Whose feature a node has that names no partitions."""

    @property
    def mark(self) -> str:
        """The comment of the nodes that are ours."""
        return COMMENT + self.cluster


@dataclass(frozen=True, slots=True)
class NodePlan:
    create: tuple[tuple[External, ...], ...] = ()
    """Nodes alike, one call each; and one to mark them as ours, since their line cannot."""
    update: tuple[tuple[str, NodeUpdate], ...] = ()
    forget: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.create or self.update or self.forget)


def decide(
    hosts: Iterable[Node],
    slurm: Mapping[str, model.Node],
    rules: NodeRules,
    there: Neighbourhood = NOBODY,
) -> NodePlan:
    """Where a slurmd runs there is a node in Slurm, or there will be: none is made for it."""
    every = [host for host in hosts if host.metadata.name not in there.workers]
    single = names(every).slurm
    create: list[External] = []
    update: list[tuple[str, NodeUpdate]] = []
    forget: list[str] = []
    wanted: set[str] = set()
    for host in every:
        name = host.metadata.name
        taken, published = there.taken.get(name, {}), there.devices.get(name, NOTHING)
        found = _with_partition(external(host, rules.devices, taken, published), host, rules)
        if found is None or name not in single:
            continue
        wanted.add(found.name)
        node, ill = slurm.get(found.name), ailment(host, rules)
        if node is None:
            create += [] if ill else [found]
        elif _is_ours(node, rules, labelled=True):
            update += [(node.name, each) for each in _changes(found, node, ill, rules)]
            forget += [node.name] if _to_be_remade(found, node) and node.state.drained else []
    for node in _left_behind(slurm, wanted, rules):
        if node.state.drained:
            forget.append(node.name)
        elif not node.state.drain:
            update.append((node.name, NodeUpdate(state="DRAIN", reason=GOES)))
    return NodePlan(tuple(_alike(create)), tuple(update), tuple(forget))


def _with_partition(found: External | None, host: Node, rules: NodeRules) -> External | None:
    """In no partition it would be of use to nobody."""
    noted = words.EXTERNAL_NODE_PARTITIONS in (host.metadata.annotations or {})
    if found is None or noted or not rules.partition:
        return found
    return replace(found, features=tuple(rules.partition.split(",")))


def ailment(host: Node, rules: NodeRules) -> str:
    """Why no job should start there; empty where nothing is wrong."""
    if host.spec.unschedulable:
        return CORDONED
    shown = {each.type: each.status for each in host.status.conditions or ()}
    if shown.get("Ready", "True") != "True":
        return NOT_READY
    found = next((name for name in rules.conditions if shown.get(name) == "True"), "")
    return f"{OURS} {found} in Kubernetes" if found else ""


def _changes(
    wanted: External, node: model.Node, ill: str, rules: NodeRules
) -> Iterator[NodeUpdate]:
    if node.comment != rules.mark:
        yield NodeUpdate(comment=rules.mark)
    if set(wanted.features) != set(node.features):
        features = wanted.features or NO_FEATURE
        yield NodeUpdate(features=features, active_features=features)
    if wanted.topology and wanted.topology != node.topology:
        yield NodeUpdate(topology=wanted.topology)
    reason = ill or (CHANGES if _to_be_remade(wanted, node) else "")
    if reason and (not node.state.drain or (_drained_by_us(node) and node.reason != reason)):
        yield NodeUpdate(state="DRAIN", reason=reason)
    if not reason and node.state.drain and _drained_by_us(node):
        yield NodeUpdate(state="UNDRAIN")


def _to_be_remade(wanted: External, node: model.Node) -> bool:
    others = node.state.drain and not _drained_by_us(node)
    return not wanted.same_hardware(node) and not others


def _drained_by_us(node: model.Node) -> bool:
    return node.reason.startswith(OURS)


def _is_ours(node: model.Node, rules: NodeRules, *, labelled: bool = False) -> bool:
    """A node that nobody marked is taken over where a label asks for it: Slinky marked none."""
    if not node.state.external:
        return False
    if node.comment.startswith(COMMENT):
        return node.comment == rules.mark
    return labelled


def _left_behind(
    slurm: Mapping[str, model.Node], wanted: set[str], rules: NodeRules
) -> Iterator[model.Node]:
    for name, node in slurm.items():
        if name not in wanted and _is_ours(node, rules):
            yield node


def _alike(several: Iterable[External]) -> Iterator[tuple[External, ...]]:
    """One call for all of a shape; slurmctld takes devices for the first node of a call only."""
    shapes: dict[tuple[object, ...], list[External]] = {}
    for each in several:
        if each.gres:
            yield (each,)
        else:
            shapes.setdefault(each.shape, []).append(each)
    yield from map(tuple, shapes.values())
