"""A worker as a pass sees it: its pod, its node in Slurm, its jobs, and the host it is on."""

from collections.abc import Mapping
from dataclasses import dataclass

from windlass.kube.objects import Node as Host
from windlass.kube.objects import Pod
from windlass.operator.plan import Leaving
from windlass.operator.workers.identity import slurm_name
from windlass.operator.workers.observe import Observed
from windlass.slurm.model import Job, Node

OURS = "slurm-operator: "
"""How every reason that we give to Slurm begins: as Slinky's do, whose drains we take over."""
UNANSWERED = "Not responding"
"""Slurm's own reason of a node that it set down."""


@dataclass(frozen=True, slots=True)
class Worker:
    pod: Pod
    name: str
    """In Slurm."""
    node: Node | None
    """None where Slurm does not know it; who asks must know that Slurm answers."""
    jobs: Mapping[str, Job]
    host: Host | None
    unread: bool = False
    """Whether jobs came to it, or left it, that have not been read yet."""

    @property
    def busy(self) -> bool:
        """Whether Slurm says that a job is there."""
        return bool(self.jobs) or bool(self.node and self.node.state.busy)

    @property
    def in_doubt(self) -> bool:
        """Whether a job is there, and nothing is known of it yet."""
        return self.busy and not self.jobs and self.unread

    @property
    def leaving(self) -> Leaving:
        meta = self.pod.metadata
        return Leaving(meta.key, meta.uid, self.name, meta.resource_version)

    @property
    def label(self) -> str:
        meta = self.pod.metadata
        return f"Pod ({meta.namespace}/{meta.name})"

    @property
    def drained_by_us(self) -> str:
        """Why we drained it, in the words that we gave to Slurm; empty if we did not."""
        if self.node is None or not self.node.state.drain:
            return ""
        return self.node.reason.removeprefix(OURS) if ours(self.node.reason) else ""


def ours(reason: str) -> bool:
    return reason.startswith(OURS)


def workers(observed: Observed) -> tuple[Worker, ...]:
    """All pods of the set, also those that are on their way out."""
    seen = observed.slurm

    def worker(pod: Pod) -> Worker:
        name = slurm_name(pod)
        node = seen.nodes.get(name) if seen else None
        jobs = seen.on(name) if seen else {}
        host = observed.hosts.get(pod.spec.node_name)
        return Worker(pod, name, node, jobs, host, seen is not None and name in seen.unread)

    return tuple(worker(pod) for pod in observed.pods)
