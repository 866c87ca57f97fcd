"""What a node is called on both sides: as a label of the Kubernetes node says, or like the one
slurmd that runs there, or the same.

Two nodes of Kubernetes with one name in Slurm would be one place to it; then neither counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from windlass.api.validation.findings import Finding, Problem
from windlass.bridge import words
from windlass.kube.objects import Node

LABEL: Final = f"metadata.labels[{words.NODE_NAME}]"


@dataclass(frozen=True, slots=True)
class Names:
    slurm: Mapping[str, str]
    """Slurm's name of each node of Kubernetes."""
    kube: Mapping[str, str]
    """Kubernetes' name of each node of Slurm."""
    findings: tuple[Finding, ...] = ()


def slurm_name(node: Node, workers: Mapping[str, tuple[str, ...]] = {}) -> str:
    """`workers` are the slurmds on each node, by their names."""
    there = workers.get(node.metadata.name, ())
    said = (node.metadata.labels or {}).get(words.NODE_NAME)
    return said or (there[0] if len(there) == 1 else node.metadata.name)


def sharing(
    nodes: Iterable[Node], workers: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """The slurmds whose place in Slurm is that of their node.

    A node with the label of EXTERNAL nodes is one by itself, and a slurmd there a guest like any
    other pod, except where both are to have one name.
    """
    found = {}
    for node in nodes:
        there = workers.get(node.metadata.name, ())
        if words.EXTERNAL_NODE in (node.metadata.labels or {}):
            there = tuple(name for name in there if name == slurm_name(node))
        if there:
            found[node.metadata.name] = there
    return found


def names(nodes: Iterable[Node], workers: Mapping[str, tuple[str, ...]] = {}) -> Names:
    called: dict[str, list[str]] = {}
    for node in nodes:
        called.setdefault(slurm_name(node, workers), []).append(node.metadata.name)
    single = {theirs: ours[0] for theirs, ours in called.items() if len(ours) == 1}
    findings = tuple(
        Problem(
            LABEL,
            f"nodes {', '.join(sorted(ours))} are all {theirs} to Slurm",
            "give each a name of its own",
        )
        for theirs, ours in called.items()
        if len(ours) > 1
    )
    return Names({ours: theirs for theirs, ours in single.items()}, single, findings)
