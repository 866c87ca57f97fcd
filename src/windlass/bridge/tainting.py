"""Nodes that Slurm gives away are tainted, so that nobody else's pods stay there. Pure.

Only the taint with the name of our scheduler is ours; those of others, also of another bridge,
are kept as they are.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from windlass.bridge import words
from windlass.kube.objects import Node, Taint


@dataclass(frozen=True, slots=True)
class Retaint:
    node: str
    version: str
    """Of the node as it was read: the list of taints is written as a whole."""
    taints: tuple[Taint, ...]


def retaints(
    hosts: Iterable[Node], called: Mapping[str, str], slurm: Collection[str], scheduler: str
) -> Iterator[Retaint]:
    """What to write, so that the nodes that Slurm knows, or is to know, have our taint and no
    others have; `called` are Slurm's names."""
    ours = words.taint(scheduler)
    for host in hosts:
        shown = tuple(host.spec.taints or ())
        is_there = any(_same(each, ours) for each in shown)
        labelled = words.EXTERNAL_NODE in (host.metadata.labels or {})
        managed = labelled or called.get(host.metadata.name) in slurm
        if managed != is_there:
            rest = tuple(each for each in shown if not _same(each, ours))
            wanted = (*rest, ours) if managed else rest
            yield Retaint(host.metadata.name, host.metadata.resource_version, wanted)


def _same(one: Taint, other: Taint) -> bool:
    return (one.key, one.value, one.effect) == (other.key, other.value, other.effect)
