"""A user's fields over ours, by the rules of Kubernetes' strategic merge.

Objects merge field by field, and lists whose entries have a key (containers by name, ports by
number) entry by entry; other lists are replaced. What a user says counts, also where it is `false`,
`0` or empty; `null` takes our field away. `$patch: delete` removes an entry, `$patch: replace` an
object or, as an entry, a whole list, as in `kubectl patch`. An empty list of keyed entries says
nothing of ours, so it changes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Fields: TypeAlias = Mapping[str, Any]

# By the name of the list; where one name has different keys, by the kind of object it is in.
KEYS: Final[Mapping[str, str]] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "imagePullSecrets": "name",
    "resourceClaims": "name",
    "claims": "name",
    "schedulingGates": "name",
    "resizePolicy": "resourceName",
}
SERVICE_KEYS: Final[Mapping[str, str]] = {"ports": "port"}
# Lists without a key to which a user adds: our entries say what the daemon needs.
ADDED: Final = frozenset({"tolerations", "args"})
HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
TERMS: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def merge_container(base: Fields, user: Fields | None) -> dict[str, Any]:
    """Our container with the user's fields; a user's probe brings its own way to ask."""
    given = dict(user or {})
    ours = dict(base)
    for probe in PROBES:
        said = given.get(probe)
        if isinstance(said, Mapping) and any(handler in said for handler in HANDLERS):
            ours[probe] = {
                name: value
                for name, value in (ours.get(probe) or {}).items()
                if name not in HANDLERS
            }
    return _merge(ours, given, KEYS)


def merge_pod_spec(base: Fields, user: Fields | None) -> dict[str, Any]:
    """Our pod with the user's fields; containers of other names come after ours."""
    given = dict(user or {})
    ours = dict(base)
    theirs = _anti_affinity(given)
    merged = _merge(ours, _without_containers(given), KEYS)
    for each in ("initContainers", "containers"):
        if each in given:
            merged[each] = _merged_containers(ours.get(each, ()), given[each] or ())
    if theirs and _anti_affinity(ours):
        merged["affinity"]["podAntiAffinity"][TERMS] = [*_anti_affinity(ours), *theirs]
    return merged


def merge_service_spec(base: Fields, user: Fields | None) -> dict[str, Any]:
    """Our Service with the user's fields.

    External addresses are left out, since with them anybody could catch the traffic of others.
    """
    merged = _merge(base, dict(user or {}), SERVICE_KEYS)
    merged.pop("externalIPs", None)
    return merged


def merge_object(base: Fields, user: Fields | None) -> dict[str, Any]:
    """Any other object, field by field."""
    return _merge(base, dict(user or {}), KEYS)


def _merge(base: Fields, user: Fields, keys: Mapping[str, str]) -> dict[str, Any]:
    if user.get("$patch") == "replace":
        return {name: value for name, value in user.items() if name != "$patch"}
    merged = dict(base)
    for name, value in user.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged_value(name, merged.get(name), value, keys)
    return merged


def _merged_value(name: str, ours: Any, theirs: Any, keys: Mapping[str, str]) -> Any:
    if isinstance(theirs, Mapping):
        return _merge(ours if isinstance(ours, Mapping) else {}, theirs, keys)
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return theirs
    if name in ADDED:
        return [*ours, *(entry for entry in theirs if name == "args" or entry not in ours)]
    key = keys.get(name)
    return theirs if key is None else _merged_list(ours, theirs, key, keys)


def _merged_list(
    ours: Sequence[Any], theirs: Sequence[Any], key: str, keys: Mapping[str, str]
) -> list[Any]:
    """By key: changed in our place, new ones after ours."""
    if {"$patch": "replace"} in theirs:
        return [entry for entry in theirs if entry != {"$patch": "replace"}]
    merged = list(ours)
    for entry in theirs:
        if not isinstance(entry, Mapping):
            return list(theirs)
        found = [at for at, mine in enumerate(merged) if mine.get(key) == entry.get(key)]
        if entry.get("$patch") == "delete":
            merged = [mine for at, mine in enumerate(merged) if at not in found]
        elif found:
            merged[found[0]] = _merge(merged[found[0]], entry, keys)
        else:
            merged.append(_merge({}, entry, keys))
    return merged


def _merged_containers(ours: Sequence[Fields], theirs: Sequence[Fields]) -> list[dict[str, Any]]:
    given = {container.get("name"): container for container in theirs}
    known = {container.get("name") for container in ours}
    merged = [merge_container(container, given.get(container.get("name"))) for container in ours]
    return merged + [dict(other) for other in theirs if other.get("name") not in known]


def _without_containers(spec: Fields) -> dict[str, Any]:
    return {
        name: value for name, value in spec.items() if name not in ("containers", "initContainers")
    }


def _anti_affinity(spec: Fields) -> list[Any]:
    """The required terms: a user's are added to ours, or two daemons could share a node."""
    affinity = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
    return list(affinity.get(TERMS) or ())
