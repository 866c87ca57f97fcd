"""Who a worker is: the name of its pod, and the name by which Slurm knows it.

A worker has a number, or, where every Kubernetes node has one, a host that it belongs to.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import Final

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.objects import Node as Host
from windlass.kube.objects import Pod
from windlass.kube.placement import pinned_to
from windlass.operator.hashes import digest

ON_EVERY_HOST: Final = "DaemonSet"
BY_NUMBER: Final = "StatefulSet"

LETTERS: Final = 12
# None of them is a digit, so that no such name looks like a number.
_LETTERS: Final = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")
_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    pod: str
    hostname: str
    ordinal: int | None = None
    """None of a worker that belongs to a host."""
    index: str = ""
    """The ordinal as it is written, with zeros before it if the set pads."""
    host: str = ""
    """The Kubernetes node that it must be on; empty where the scheduler chooses."""
    failures: int = 0
    """How many of its pods have ended soon after they were made, one after the other."""

    @property
    def suffix(self) -> str:
        """What its claims end with."""
        return self.index or self.hostname


def identity(node_set: NodeSet, ordinal: int) -> Identity:
    index = str(ordinal).zfill(node_set.spec.ordinal_padding)
    pod = f"{node_set.metadata.name}-{index}"
    prefix = _given_hostname(node_set)
    hostname = f"{prefix}{index}" if prefix else pod
    return Identity(pod=pod, hostname=hostname, ordinal=ordinal, index=index)


def identity_on(node_set: NodeSet, host: Host, failures: int = 0) -> Identity:
    """The worker of a host. Its pod's name follows from the host's, so that it is made once."""
    name = host.metadata.name
    pod = f"{node_set.metadata.name}-{digest(name)[:LETTERS].translate(_LETTERS)}"
    return Identity(pod=pod, hostname=hostname_of(host), host=name, failures=failures)


def hostname_of(host: Host) -> str:
    """What the worker of a host is called: as its annotation says, or like the host."""
    given = (host.metadata.annotations or {}).get(labels.HOSTNAME_OVERRIDE)
    return given or host.metadata.name.partition(".")[0]


def is_hostname(name: str) -> bool:
    return _DNS_LABEL.fullmatch(name) is not None


def _given_hostname(node_set: NodeSet) -> str:
    return str((node_set.spec.template.spec or {}).get("hostname") or "")


def ordinal_of(pod: Pod) -> int | None:
    """The number of a pod, however it was padded when the pod was made."""
    index = pod.metadata.name.rpartition("-")[2]
    return int(index) if index.isascii() and index.isdigit() else None


def mode_of(pod: Pod) -> str:
    return (pod.metadata.labels or {}).get(labels.SCALING_MODE, BY_NUMBER)


def host_of(pod: Pod) -> str:
    """The Kubernetes node that a pod is on, or is made for; empty where that is open."""
    return pod.spec.node_name or pinned_to(pod.spec)


def slurm_name(pod: Pod) -> str:
    """The name of its Slurm node; on the host's network a pod has the host's name, of which slurmd
    takes what is before the first dot. One that belongs to a host is called like it anyway."""
    if pod.spec.host_network and mode_of(pod) != ON_EVERY_HOST:
        return pod.spec.node_name.partition(".")[0]
    known = (pod.metadata.labels or {}).get(labels.POD_HOSTNAME)
    return pod.spec.hostname or known or pod.metadata.name


def absent(node_set: NodeSet, pods: Collection[Pod], first: Collection[int] = ()) -> list[Identity]:
    """The workers to make: the lowest numbers that no pod has, so that gaps are filled, but these
    first.

    A pod that is being deleted keeps its number and its place until it is gone. Workers that
    belong to hosts, from when the set had one on each, take nobody's place.
    """
    used = {ordinal_of(pod) for pod in pods}
    wanted = max(0, node_set.spec.replicas - sum(mode_of(pod) == BY_NUMBER for pod in pods))
    preferred = sorted(set(first) - used)
    numbers = chain(preferred, _free(used.union(preferred)))
    return [identity(node_set, ordinal) for ordinal in islice(numbers, wanted)]


def _free(used: Collection[int | None]) -> Iterator[int]:
    return (ordinal for ordinal in count() if ordinal not in used)
