"""What a pass decided: a closed vocabulary of actions. One executor carries them out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from windlass.kube.kinds import Kind
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
class Label:
    """Set labels, or remove those that are None, of this one and not of another of its name."""

    kind: Kind
    key: Key
    uid: str
    labels: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ShowConditions:
    """Have these conditions, and no others of the prefix; those of others are left alone."""

    kind: Kind
    key: Key
    uid: str
    prefix: str
    conditions: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Tell:
    """An Event about the custom resource."""

    warning: bool
    reason: Reason
    action: str


Action: TypeAlias = Apply | Create | Replace | Delete | Annotate | Label | ShowConditions | Tell


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions in their order, the status to show, and when to look again if nothing wakes us."""

    actions: tuple[Action, ...] = ()
    status: Body | None = None
    again: float | None = None
