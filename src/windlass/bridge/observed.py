"""All that one gang is decided by, read once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from windlass.bridge import words
from windlass.bridge.gang import Gang, GangKey
from windlass.bridge.ground import Ground
from windlass.bridge.identity import Verdict
from windlass.bridge.jobs import Ours
from windlass.bridge.plan import Target
from windlass.bridge.sharing import Share
from windlass.bridge.submission import Nodes, Settings
from windlass.bridge.volumes import Storage
from windlass.bridge.workloads.assembling import ENDED
from windlass.bridge.workloads.objects import CorePodGroup
from windlass.kube.objects import Pod
from windlass.slurm.model import Job, NodeAllocation

NO_NODES = Nodes(frozenset(), frozenset())
NO_CLAIMS = Storage()


class Host(Enum):
    """How the Kubernetes node of a pod is."""

    WELL = "well"
    SILENT = "its kubelet does not answer"
    GONE = "it is no more"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSide:
    """What Slurm says; where it says nothing there is no such thing."""

    jobs: tuple[Ours, ...]
    """With a marker of this gang, the oldest first; also those that have ended a while ago."""
    noted: Mapping[int, Job] = field(default_factory=dict)
    """The jobs whose number is on a pod of the gang; one that Slurm has forgotten is missing."""
    nodes: Nodes = NO_NODES
    kube: Mapping[str, str] = field(default_factory=dict)
    """Kubernetes' names of Slurm's nodes."""
    threads: Mapping[str, int] = field(default_factory=dict)
    held: tuple[NodeAllocation, ...] = ()
    """What the running job of the gang has, in Slurm's order."""
    crowded: frozenset[str] = frozenset()
    """Kubernetes nodes on which pods that hold nothing in Slurm any more still run."""
    shares: Mapping[int, Share] = field(default_factory=dict)
    """By index: the devices of members that are bound, as their claims say."""
    ground: Mapping[str, Ground] = field(default_factory=dict)
    """Kubernetes nodes of the running job."""
    submit_in: float = 0.0
    """Seconds until it is certain that no job of this gang is on its way."""
    ahead: int | None = None
    """Jobs that come before the gang's in the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    key: GangKey
    pods: tuple[Pod, ...]
    """All of the gang, also those that have ended or are being deleted."""
    strays: tuple[Pod, ...] = ()
    """Those that have a place of the same jobs and are of another gang by now: their owner is gone,
    or has let go of them."""
    unseen: frozenset[int] = frozenset()
    """Jobs whose pods we have bound, which no watch has shown yet."""
    gang: Gang | None
    """Of those that live; None where nobody does."""
    verdict: Verdict
    settings: Settings
    hosts: Mapping[str, Host] = field(default_factory=dict)
    """Nodes of the pods that are not well."""
    storage: Storage = NO_CLAIMS
    group: CorePodGroup | None = None
    """Of Kubernetes' own, where the gang is one."""
    slurm: SlurmSide | None
    """None: Slurm did not answer."""
    now: datetime


def target(pod: Pod) -> Target:
    return Target(pod.metadata.key, pod.metadata.uid)


def ended(pod: Pod) -> bool:
    return pod.status.phase in ENDED


def leaving(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def bound(pod: Pod) -> bool:
    return bool(pod.spec.node_name)


def kept(pod: Pod) -> bool:
    """Whether our finalizer is on it."""
    return words.FINALIZER in (pod.metadata.finalizers or ())


def job_id(pod: Pod) -> int | None:
    """The Slurm job that is noted on a pod."""
    meta = pod.metadata
    said = (meta.labels or {}).get(words.JOB_ID) or (meta.annotations or {}).get(words.JOB_ID, "")
    return int(said) if said.isdecimal() else None


def unmarked(pod: Pod) -> bool:
    """Whether a pod is to be held and is not yet; one that is being deleted cannot be."""
    lives = bound(pod) and not ended(pod) and not leaving(pod)
    return lives and not kept(pod) and job_id(pod) is not None
