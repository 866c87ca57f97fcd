"""Partitions of NodeSets that are no longer wanted stay while jobs name them.

A slurmctld whose configuration loses a partition kills the jobs in it. So of the lines that were
applied last, those stay that jobs need, and take no new jobs.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from windlass.slurm.conf import SLURM_CONF, Broken, Pair, Record, parse
from windlass.values.reason import Reason

SECTION: Final = "NODESET & PARTITION"


@dataclass(frozen=True, slots=True)
class Past:
    """The slurm.conf that was applied last, and which partitions jobs name."""

    text: str = ""
    named: frozenset[str] | None = frozenset()
    """None where Slurm does not say."""

    def needed(self, names: Collection[str]) -> tuple[Record, ...]:
        """What has to stay of it, where these are the partitions that there are anyway."""
        lines = _lines(self.text)
        kept = [
            line
            for line in lines
            if line.name.is_for("PartitionName")
            and line.name.value not in names
            and (self.named is None or line.name.value in self.named)
        ]
        of = {line.get("Nodes") for line in kept}
        sets = (each for each in lines if each.name.is_for("NodeSet") and each.name.value in of)
        return (*sets, *map(closed, kept))


def closed(line: Record) -> Record:
    """A partition that is about to go takes no new jobs; those that name it keep it until then."""
    others = tuple(pair for pair in line.pairs if not pair.is_for("State"))
    return Record(line.name, (*others, Pair("State", "INACTIVE")))


def notes(kept: Collection[Record], past: Past) -> Iterator[Reason]:
    for line in kept:
        if line.name.is_for("PartitionName"):
            why = (
                "jobs name it" if past.named is not None else "Slurm does not say whose jobs it has"
            )
            sentence = f"partition {line.name.value} is no longer wanted; it stays while {why}"
            yield Reason("PartitionKept", sentence)


def _lines(text: str) -> tuple[Record, ...]:
    """What we wrote there for NodeSets."""
    own = text.partition(f"### {SECTION} ###\n")[2].partition("#\n### ")[0]
    try:
        return parse(own, SLURM_CONF, "slurm.conf").records()
    except Broken:
        return ()
