"""What objects of every kind have: a key, metadata, conditions. Pure; `objects.py` builds on it."""

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from windlass.values.key import Key


class Part(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True, kw_only=True):
    """A piece of an object; what is at its default is not written."""


# --- metadata ------------------------------------------------------------------------------


class OwnerReference(Part, frozen=True, gc=False):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Meta(Part, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[OwnerReference] | None = None
    finalizers: list[str] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None

    @property
    def key(self) -> Key:
        return Key(self.namespace, self.name)

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object."""
        return next((owner for owner in self.owner_references or () if owner.controller), None)


class Object(Protocol):
    """What a store asks of the things it keeps."""

    @property
    def metadata(self) -> Meta: ...


class PartialObject(Part, frozen=True, gc=False):
    """Metadata alone: of every kind, and all that a metadata-only request brings."""

    metadata: Meta


# --- what several kinds share --------------------------------------------------------------

Quantity = str | int | float  # the server writes strings; people write numbers too


class Condition(Part, frozen=True, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: datetime | None = None
    last_probe_time: datetime | None = None


class LabelRequirement(Part, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Part, frozen=True, gc=False):
    match_labels: dict[str, str] | None = None
    match_expressions: list[LabelRequirement] | None = None


class ObjectReference(Part, frozen=True, gc=False):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""
