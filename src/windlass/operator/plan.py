"""What a pass decided: a closed vocabulary of actions. One executor carries them out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from windlass.kube.kinds import Kind
from windlass.slurm.specs import NodeUpdate, ReservationSpec
from windlass.values.key import Key
from windlass.values.reason import Reason

Body: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Apply:
    """Have these fields so; nothing is sent where they are."""

    kind: Kind
    body: Body


@dataclass(frozen=True, slots=True)
class Create:
    """Make it once; what is there already is never rewritten."""

    kind: Kind
    body: Body


@dataclass(frozen=True, slots=True)
class Replace:
    """Have it so although an immutable field differs: its pods stay while it is made anew."""

    kind: Kind
    body: Body


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove this one, and not another that has taken its name.

    With a version it is removed only as it was seen: a pod that has been bound to a node since then
    stays.
    """

    kind: Kind
    key: Key
    uid: str
    reason: Reason
    version: str = ""


@dataclass(frozen=True, slots=True)
class Annotate:
    """Set annotations, or remove those that are None, of an object that is not ours to apply."""

    kind: Kind
    key: Key
    annotations: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Mark:
    """Set labels and annotations, or remove those that are None, of this one and not of another of
    its name."""

    kind: Kind
    key: Key
    uid: str
    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShowConditions:
    """Have these conditions, and no others of the prefix; those of others are left alone."""

    kind: Kind
    key: Key
    uid: str
    prefix: str
    conditions: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Finalize:
    """Put finalizers on an object that shall stay until we are done with it, or take them off."""

    kind: Kind
    key: Key
    uid: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Own:
    """Have owners with whom an object goes; others of its owners are left alone."""

    kind: Kind
    key: Key
    uid: str
    add: tuple[Body, ...] = ()
    remove: tuple[str, ...] = ()
    """By their uid."""


@dataclass(frozen=True, slots=True)
class Tell:
    """An Event about the custom resource."""

    warning: bool
    reason: Reason
    action: str


# --- in Slurm ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChangeNodes:
    """Change Slurm nodes alike, in one call.

    Slurm is asked once more right before the state of one is changed: if an administrator has given
    it a reason by then, it is left alone. With `if_idle` it is also left alone if a job has come.
    """

    names: tuple[str, ...]
    update: NodeUpdate
    reason: Reason
    if_idle: bool = False


@dataclass(frozen=True, slots=True)
class ForgetNodes:
    """Have Slurm forget nodes that are no more; with `whoever` also those to which an administrator
    gave a reason."""

    names: tuple[str, ...]
    reason: Reason
    whoever: bool = False


@dataclass(frozen=True, slots=True)
class Reserve:
    """Have this reservation so."""

    spec: ReservationSpec
    reason: Reason


@dataclass(frozen=True, slots=True)
class Unreserve:
    name: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class RequeueJobs:
    """Put jobs back into the queue: only where a user has said so beforehand."""

    jobs: tuple[int, ...]
    reason: Reason


# --- in both ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leaving:
    """A worker pod that is to go, and the Slurm node that it is.

    It goes only as it was seen: whoever writes on it that a job is there keeps it, also from a
    deletion that was on its way for long.
    """

    key: Key
    uid: str
    node: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Retire:
    """Delete worker pods in which no job can be.

    Slurm is asked once more, for all of them, right before: who is not drained and free by then
    stays. With `unknown` those go that Slurm does not know at all, and no others.
    """

    pods: tuple[Leaving, ...]
    reason: Reason
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Do these side by side: none of them waits for another. They are not told one by one."""

    actions: tuple["Step", ...]


Step: TypeAlias = (
    Apply
    | Create
    | Replace
    | Delete
    | Annotate
    | Mark
    | ShowConditions
    | Finalize
    | Own
    | Tell
    | ChangeNodes
    | ForgetNodes
    | Reserve
    | Unreserve
    | RequeueJobs
    | Retire
)
Action: TypeAlias = Step | AtOnce


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions in their order, the status to show, and when to look again if nothing wakes us."""

    actions: tuple[Action, ...] = ()
    status: Body | None = None
    again: float | None = None
    slurm: Key | None = None
    """The Controller whose Slurm is meant."""
    rest: float = 0.0
    """Seconds before the next pass, whoever asks for it."""

    @property
    def steps(self) -> Iterator[Step]:
        """Every action by itself."""
        for action in self.actions:
            if isinstance(action, AtOnce):
                yield from action.actions
            else:
                yield action
