"""What a review knows of other objects; what was not looked up is not judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from windlass.api.common import Keys


@dataclass(frozen=True, slots=True)
class Context:
    """The namespace of the object, and what objects there hold; None is one that is not there."""

    namespace: str
    files: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    """The entries of ConfigMaps, by name."""
    claims: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    """The access modes of PersistentVolumeClaims, by name."""
    keys: Mapping[str, Keys | None] = field(default_factory=dict)
    """The keys that Accountings name, by their name."""
