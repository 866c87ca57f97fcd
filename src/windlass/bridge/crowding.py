"""Whether pods that hold nothing in Slurm any more leave room on their node for others.

Slurm gives the place of an external job to the next one in the moment in which it ends, while its
pods still have their grace. So before a pod is bound it is counted what runs there besides.
"""

from collections.abc import Iterable

from windlass.bridge.annotations import read
from windlass.bridge.devices import DeviceMap
from windlass.bridge.observed import ended, leaving
from windlass.bridge.resources import Needs
from windlass.bridge.wanted import wanted
from windlass.kube.objects import Pod
from windlass.slurm.model import Job, Node


def crowded(
    pods: Iterable[tuple[Pod, Job | None]], node: Node | None, job: int, devices: DeviceMap
) -> bool:
    """Whether the pods of a new job have to wait; each pod there comes with its own job."""
    left = [
        wanted(pod.spec, read(pod.metadata.annotations).wishes, devices).needs
        for pod, its in pods
        if not ended(pod) and _holds_nothing(pod, its, job)
    ]
    return bool(left) and (node is None or not _fits(left, node))


def _holds_nothing(pod: Pod, its: Job | None, job: int) -> bool:
    if its is None or not its.state.running:
        return True
    return its.id == job and leaving(pod)  # its place in the job is the next one's already


def _fits(left: list[Needs], node: Node) -> bool:
    """Devices are not counted: who has which is known only when a pod is gone."""
    if any(needs.gres for needs in left):
        return False
    cpus = node.cpus_allocated + sum(needs.cpus for needs in left)
    memory = node.memory_allocated + sum(needs.memory or 0 for needs in left)
    return cpus <= node.cpus and memory <= node.memory
