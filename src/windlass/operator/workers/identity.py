"""Who a worker is: its number, the name of its pod, and the name by which Slurm knows it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count, islice

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.objects import Pod


@dataclass(frozen=True, slots=True)
class Identity:
    ordinal: int
    index: str
    """The ordinal as it is written, with zeros before it if the set pads."""
    pod: str
    hostname: str


def identity(node_set: NodeSet, ordinal: int) -> Identity:
    index = str(ordinal).zfill(node_set.spec.ordinal_padding)
    pod = f"{node_set.metadata.name}-{index}"
    prefix = _given_hostname(node_set)
    return Identity(ordinal, index, pod, f"{prefix}{index}" if prefix else pod)


def _given_hostname(node_set: NodeSet) -> str:
    return str((node_set.spec.template.spec or {}).get("hostname") or "")


def is_worker(node_set: NodeSet, name: str) -> bool:
    """Whether a worker of this set may have that name in Slurm; on all hosts it has the host's."""
    if node_set.spec.scaling_mode == "DaemonSet":
        return True
    start = _given_hostname(node_set) or f"{node_set.metadata.name}-"
    index = name.removeprefix(start)
    return index != name and index.isascii() and index.isdigit()


def ordinal_of(pod: Pod) -> int | None:
    """The number of a pod, however it was padded when the pod was made."""
    index = pod.metadata.name.rpartition("-")[2]
    return int(index) if index.isascii() and index.isdigit() else None


def slurm_name(pod: Pod) -> str:
    """The name of its Slurm node; on the host's network a pod has the host's name."""
    if pod.spec.host_network:
        return pod.spec.node_name
    known = (pod.metadata.labels or {}).get(labels.POD_HOSTNAME)
    return pod.spec.hostname or known or pod.metadata.name


def absent(node_set: NodeSet, pods: Collection[Pod]) -> list[Identity]:
    """The workers to make: the lowest numbers that no pod has, so that gaps are filled.

    A pod that is being deleted keeps its number and its place until it is gone.
    """
    used = {ordinal_of(pod) for pod in pods}
    wanted = max(0, node_set.spec.replicas - len(pods))
    return [identity(node_set, ordinal) for ordinal in islice(_free(used), wanted)]


def _free(used: Collection[int | None]) -> Iterator[int]:
    return (ordinal for ordinal in count() if ordinal not in used)
