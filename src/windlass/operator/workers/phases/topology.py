"""Slurm knows where a worker is: what the host says of its place goes to the pod, whose slurmd
joins with it, and to the Slurm node, since Slurm does not listen to one that comes back elsewhere.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from windlass.api import labels
from windlass.kube.kinds import POD
from windlass.operator.placing import topology_of
from windlass.operator.plan import Action, AtOnce, ChangeNodes, Mark
from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.worker import Worker
from windlass.slurm.specs import NodeUpdate
from windlass.values.reason import Reason

MOVED: Final = Reason("Topology", "their hosts say that they are there")
REFUSED: Final = "Failed to set topology"
"""How Slurm's reason begins of a node that joined with a place that Slurm does not have."""


def topology(course: Pass) -> Outcome:
    pattern = course.observed.site.topology_from_labels
    placed = [
        (each, place)
        for each in course.staying
        if each.host and (place := topology_of(each.host.metadata, pattern)) is not None
    ]
    marks = tuple(_marks(placed))
    return Outcome(
        actions=((AtOnce(marks),) if marks else ()) + tuple(_moves(placed)),
        faults=tuple(_refused(course.staying)),
    )


def _marks(placed: Iterable[tuple[Worker, str]]) -> Iterator[Mark]:
    for worker, place in placed:
        meta = worker.pod.metadata
        if (meta.annotations or {}).get(labels.TOPOLOGY, "") != place:
            yield Mark(POD, meta.key, meta.uid, annotations={labels.TOPOLOGY: place})


def _moves(placed: Iterable[tuple[Worker, str]]) -> Iterator[Action]:
    """One call for each place."""
    alike: dict[str, list[str]] = {}
    for worker, place in placed:
        if worker.node is not None and worker.node.topology != place:
            alike.setdefault(place, []).append(worker.name)
    for place, names in alike.items():
        yield ChangeNodes(tuple(names), NodeUpdate(topology=place), MOVED)


def _refused(workers: Iterable[Worker]) -> Iterator[Reason]:
    found = [each for each in workers if each.node and each.node.reason.startswith(REFUSED)]
    if found and found[0].node:
        sentence = (
            f"Slurm drained {len(found)} workers as they joined, among them {found[0].name}: "
            f"{found[0].node.reason}; correct the topology, and resume them with scontrol"
        )
        yield Reason("TopologyRefused", sentence)
