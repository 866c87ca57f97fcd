"""The NodeSet and PartitionName lines of slurm.conf."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from windlass.api.node_set import NodeSet
from windlass.operator.slurmctld.past_partitions import Past, closed, notes
from windlass.slurm.conf import SLURM_CONF, Broken, Document, Fault, Record, parse, record
from windlass.values.reason import Reason

NO_PAST: Final = Past()


@dataclass(frozen=True, slots=True)
class NodeLines:
    """Lines that give no name twice, which slurmctld would not survive."""

    lines: tuple[Record, ...]
    faults: tuple[Fault, ...]
    notes: tuple[Reason, ...]


def node_lines(node_sets: Sequence[NodeSet], given: Document, past: Past = NO_PAST) -> NodeLines:
    """Lines for these sets, sorted by name; what the user wrote (`given`) is not written again."""
    ordered = sorted(node_sets, key=lambda node_set: node_set.metadata.name)
    making = _Making(given)
    for node_set in ordered:
        making.add(node_set)
    making.keep(past)
    return NodeLines(tuple(making.lines), tuple(making.faults), tuple(making.notes))


class _Making:
    def __init__(self, given: Document) -> None:
        self.lines: list[Record] = []
        self.faults: list[Fault] = []
        self.notes: list[Reason] = []
        self._given = {_identity(line): "extraConf" for line in given.records()}
        self._made: dict[tuple[str, str], tuple[str, Record]] = {}

    def add(self, node_set: NodeSet) -> None:
        name = node_set.prefix
        self._add(record("NodeSet", name, Feature=name), node_set)
        if node_set.spec.partition.enabled:
            for line in self._partition(name, node_set):
                self._add(line, node_set)

    def keep(self, past: Past) -> None:
        """Add what was there before and is still needed."""
        there = self._given.keys() | self._made.keys()
        partitions = {value for key, value in there if key == "partitionname"}
        kept = [line for line in past.needed(partitions) if _identity(line) not in there]
        self.lines += kept
        self.notes += notes(kept, past)

    def _partition(self, name: str, node_set: NodeSet) -> Iterator[Record]:
        text = f"PartitionName={name} Nodes={name} {node_set.spec.partition.config}"
        place = f"partition.config of NodeSet {node_set.metadata.name}"
        try:
            for line in parse(text.rstrip(), SLURM_CONF, place).records():
                yield closed(line) if node_set.metadata.deletion_timestamp else line
        except Broken as broken:
            self.faults += broken.faults

    def _add(self, line: Record, node_set: NodeSet) -> None:
        identity = _identity(line)
        if identity in self._given:
            self.notes.append(_in_extra_conf(line, node_set))
        elif identity not in self._made:
            self._made[identity] = (node_set.metadata.name, line)
            self.lines.append(line)
        elif self._made[identity][1] != line:
            self.notes.append(_twice(line, self._made[identity][0], node_set))


def _identity(line: Record) -> tuple[str, str]:
    return line.name.key.lower(), line.name.value


def _in_extra_conf(line: Record, node_set: NodeSet) -> Reason:
    fix = (
        "set partition.enabled: false there"
        if line.name.is_for("PartitionName")
        else "give the set another hostname"
    )
    return Reason(
        "DefinedTwice",
        f"{line.name} is in extraConf, which is used, and comes from NodeSet "
        f"{node_set.metadata.name}; {fix} or take the line out of extraConf",
    )


def _twice(line: Record, first: str, second: NodeSet) -> Reason:
    return Reason(
        "DefinedTwice",
        f"{line.name} comes from NodeSet {first}, which is used, and otherwise from NodeSet "
        f"{second.metadata.name}; give one of them another hostname in its template",
    )
