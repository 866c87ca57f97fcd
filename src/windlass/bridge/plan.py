"""What a pass over a gang decided: a closed vocabulary. One executor carries it out."""

from dataclasses import dataclass
from typing import TypeAlias

from windlass.bridge.dra import DeviceClaim
from windlass.bridge.marker import Marker
from windlass.bridge.ports import HostPort
from windlass.kube.json_patch import Operation
from windlass.slurm.specs import JobSpec
from windlass.values.key import Key
from windlass.values.reason import Reason

# --- in Slurm ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Submit:
    """Make the job of a gang: there is none."""

    marker: Marker
    spec: JobSpec
    pods: tuple["Target", ...]
    """Who is told if Slurm refuses it."""


@dataclass(frozen=True, slots=True)
class UpdateJob:
    """Change a job that waits."""

    job: int
    spec: JobSpec


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the pods of a job ended; `code` is None where they never ran to an end."""

    sentence: str
    code: int | None = None
    """As a shell gives it: 128 + n if signal n was the end."""
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True)
class EndJob:
    """End a job whose pods are gone, and let accounting say how."""

    job: int
    outcome: Outcome


# --- in Kubernetes ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """This pod, and not another that has taken its name."""

    key: Key
    uid: str


@dataclass(frozen=True, slots=True)
class Seat:
    """Bind a pod, and have it say in the same write whose it is."""

    pod: Target
    job: int
    node: str
    noted: bool = False
    """Whether the pod says it already and is held."""
    finalizers: tuple[str, ...] = ()
    """Those that are on the pod."""
    devices: DeviceClaim | None = None
    """What is to be made for it before it is bound; it is held from before that on."""
    ports: tuple[HostPort, ...] = ()
    """Those of the node that it takes for itself."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Hold a pod that is bound, so that it does not go before Slurm was told of its end."""

    pod: Target
    operations: tuple[Operation, ...]
    """They fit only the pod as it was seen."""


@dataclass(frozen=True, slots=True)
class PlaceClaim:
    """Have a claim bound for a node: to a volume that there is, or to one that is made there."""

    claim: Key
    uid: str
    node: str
    volume: str = ""
    version: str = ""
    """Of the volume, as it was when nobody had it."""


@dataclass(frozen=True, slots=True)
class Release:
    """Take our finalizer off: nothing of the pod is left to tell Slurm."""

    pod: Target
    claim: str = ""
    """The claim of its devices, which goes with it."""


@dataclass(frozen=True, slots=True)
class DeletePod:
    """With its own grace."""

    pod: Target
    reason: Reason


@dataclass(frozen=True, slots=True)
class Explain:
    """Have PodScheduled=False with this reason."""

    pod: Target
    reason: Reason
    since: str
    """When the condition became false, as Kubernetes writes it."""
    now: str
    event: bool
    """Whether the code is another than before, so that an event is worth it."""


@dataclass(frozen=True, slots=True)
class TellGroup:
    """Have a PodGroup of Kubernetes show whether its pods have their places."""

    group: Key
    uid: str
    generation: int
    status: str
    reason: Reason
    since: str


InKube: TypeAlias = Seat | Mark | PlaceClaim | Release | DeletePod | Explain | TellGroup
Action: TypeAlias = Submit | UpdateJob | EndJob | InKube


@dataclass(frozen=True, slots=True)
class Plan:
    """Stages in their order: the actions of one are done side by side, and the next comes only if
    none failed."""

    stages: tuple[tuple[Action, ...], ...] = ()
    again: float | None = None
    """When to look again if nothing wakes us."""

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(action for stage in self.stages for action in stage)
