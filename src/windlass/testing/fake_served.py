"""What the fake API server serves: kinds, their subresources, and the paths they live under."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.testing import fake_fields as fields
from windlass.values.key import Key


@dataclass(frozen=True, slots=True)
class Served:
    """One kind, and what stands beside its objects."""

    kind: Kind
    status: bool = True
    scale: bool = False
    custom: bool = False

    @property
    def lists(self) -> fields.Lists:
        return fields.ALL_KINDS if self.custom else fields.BUILT_IN

    @property
    def counts_generations(self) -> bool:
        return self.custom or self.kind in _WITH_GENERATION


@dataclass(frozen=True, slots=True)
class Place:
    """A path, taken apart."""

    group: str
    version: str
    plural: str
    key: Key
    subresource: str = ""


_SCALED: Final = frozenset({kinds.STATEFUL_SET, kinds.DEPLOYMENT, kinds.REPLICA_SET})
_WITH_GENERATION: Final = _SCALED | {
    kinds.POD,
    kinds.DAEMON_SET,
    kinds.JOB,
    kinds.POD_DISRUPTION_BUDGET,
    kinds.CUSTOM_RESOURCE_DEFINITION,
    kinds.MUTATING_WEBHOOKS,
    kinds.VALIDATING_WEBHOOKS,
    kinds.PRIORITY_CLASS,
    kinds.ENDPOINT_SLICE,
    kinds.RESOURCE_SLICE,
    kinds.DEVICE_CLASS,
}
_WITH_STATUS: Final = _SCALED | {
    kinds.POD,
    kinds.SERVICE,
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.PERSISTENT_VOLUME,
    kinds.NODE,
    kinds.NAMESPACE,
    kinds.DAEMON_SET,
    kinds.JOB,
    kinds.POD_DISRUPTION_BUDGET,
    kinds.CUSTOM_RESOURCE_DEFINITION,
    kinds.RESOURCE_CLAIM,
    kinds.CORE_POD_GROUP,
}

BORN: Final[Mapping[Kind, dict[str, Any]]] = {
    kinds.POD: {"status": {"phase": "Pending"}},
    kinds.PERSISTENT_VOLUME_CLAIM: {"status": {"phase": "Pending"}},
    kinds.NAMESPACE: {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}},
}
"""What each kind has from its first moment."""
MADE_BY_PUT: Final = frozenset(
    {
        kinds.LEASE,
        kinds.EVENT,
        kinds.ROLE,
        kinds.ROLE_BINDING,
        kinds.CLUSTER_ROLE,
        kinds.CLUSTER_ROLE_BINDING,
    }
)
"""Kinds of which a replacement makes what is not there."""


def _built_in() -> Iterable[Kind]:
    """The kinds of an API server to which nobody has added any."""
    every = [value for value in vars(kinds).values() if isinstance(value, Kind)]
    return [kind for kind in every if "." not in kind.group or _is_official(kind.group)]


def _is_official(group: str) -> bool:
    return group.endswith(".k8s.io") and not group.endswith(".x-k8s.io")


BUILT_IN: Final[Mapping[tuple[str, str, str], Served]] = {
    (kind.group, kind.version, kind.plural): Served(kind, kind in _WITH_STATUS, kind in _SCALED)
    for kind in _built_in()
}


def defined(definition: Mapping[str, Any], version: str) -> Served | None:
    """The custom kind that a CustomResourceDefinition adds; None for a version it lacks."""
    spec = definition["spec"]
    for each in spec["versions"]:
        if each["name"] == version and each.get("served"):
            beside = each.get("subresources") or {}
            names, group = spec["names"], spec["group"]
            namespaced = spec["scope"] == "Namespaced"
            kind = Kind(group, version, names["plural"], names["kind"], namespaced)
            return Served(kind, "status" in beside, "scale" in beside, custom=True)
    return None


def place(path: str) -> Place | None:
    """Where a path leads; None for one that no kind could live under."""
    match [unquote(part) for part in path.strip("/").split("/")]:
        case ["api", version, *rest]:
            return _below("", version, rest)
        case ["apis", group, version, *rest]:
            return _below(group, version, rest)
    return None


def _below(group: str, version: str, parts: list[str]) -> Place | None:
    namespace = ""
    # /namespaces/a/pods is a collection, /namespaces/a/status is about the namespace itself.
    if parts[0] == "namespaces" and len(parts) > 2 and parts[2] not in ("status", "finalize"):
        namespace, parts = parts[1], parts[2:]
    match parts:
        case [plural]:
            return Place(group, version, plural, Key(namespace, ""))
        case [plural, name]:
            return Place(group, version, plural, Key(namespace, name))
        case [plural, name, subresource]:
            return Place(group, version, plural, Key(namespace, name), subresource)
    return None
