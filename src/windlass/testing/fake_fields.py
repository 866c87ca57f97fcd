"""Who owns which field: managedFields and server-side apply of the fake API server. Pure.

The real server learns from its schemas which lists are keyed; here a small table by field name
says it for the built-in kinds. Of custom kinds every list is atomic but conditions, owners and
finalizers. Defaults are not known, except for the protocol of a port, which is part of its key.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from windlass.kube.errors import Cause
from windlass.testing.fake_objects import SERVER_OWNED, Json

Path = tuple[str, ...]
Lists = Mapping[str, tuple[tuple[str, ...], ...]]

_SET: Final = ((),)
_NAMED: Final = (("name",),)
ALL_KINDS: Final[Lists] = {
    "conditions": (("type",),),
    "ownerReferences": (("uid",),),
    "finalizers": _SET,
}
BUILT_IN: Final[Lists] = {
    **ALL_KINDS,
    **dict.fromkeys(("containers", "initContainers", "ephemeralContainers", "volumes"), _NAMED),
    **dict.fromkeys(("env", "imagePullSecrets", "resourceClaims", "schedulingGates"), _NAMED),
    **dict.fromkeys(("webhooks", "secrets", "claims"), _NAMED),
    "ports": (("containerPort", "protocol"), ("port", "protocol")),
    "volumeMounts": (("mountPath",),),
    "volumeDevices": (("devicePath",),),
    "hostAliases": (("ip",),),
    "podIPs": (("ip",),),
    "hostIPs": (("ip",),),
    "addresses": (("type",),),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
}
_KEY_DEFAULTS: Final = {"protocol": "TCP"}
_ATOMIC_MAPS: Final = frozenset(
    f"f:{name}"
    for name in [
        "selector",
        "nodeSelector",
        "labelSelector",
        "namespaceSelector",
        "podSelector",
        "objectSelector",
        "roleRef",
        "fieldRef",
        "resourceFieldRef",
        "secretKeyRef",
        "configMapKeyRef",
        "regarding",
        "related",
        "claimRef",
    ]
)
FIELDS: Final = "managedFields"
_UNTRACKED: Final = SERVER_OWNED | {"generateName"}


class Owner(NamedTuple):
    manager: str
    operation: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Writing:
    """Who writes, when, and what is known of the kind's lists."""

    owner: Owner
    api_version: str
    time: str
    lists: Lists


class Contested(Exception):
    """An apply without force would change what others own."""

    def __init__(self, causes: list[Cause]) -> None:
        super().__init__("fields are owned by others")
        self.causes = causes


# --- the two ways to write -----------------------------------------------------------------


def updated(old: Json, new: Json, writing: Writing) -> Json:
    """The new object with the ownership that a plain write leaves: what changed is the writer's."""
    before, after = (_leaves(part, writing.lists) for part in _differing(old, new))
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    lost = changed | (before.keys() - after.keys())
    owned = {owner: paths - lost for owner, paths in _owned(old).items()}
    owned[writing.owner] = owned.get(writing.owner, set()) | changed
    return _with_owners(new, owned, _entries(old), writing)


def applied(live: Json, config: Json, writing: Writing, *, force: bool) -> Json:
    """What a server-side apply makes of the live object; raises Contested."""
    want, have = _leaves(_tracked(config), writing.lists), _leaves(_tracked(live), writing.lists)
    taken = {path for path, value in want.items() if path not in have or have[path] != value}
    owned = _owned(live)
    mine = owned.pop(writing.owner, set())
    causes = [_cause(owner, path) for owner in owned for path in sorted(owned[owner] & taken)]
    if causes and not force:
        raise Contested(causes)
    others = {owner: paths - taken for owner, paths in owned.items()}
    kept = _with_parents((*want, *(path for paths in others.values() for path in paths)))
    merged = _merged((), live, config, writing.lists)
    left = _without((), merged, mine - kept, writing.lists)
    return _with_owners(left, {**others, writing.owner: set(want)}, _entries(live), writing)


def _differing(old: Json, new: Json) -> tuple[Json, Json]:
    """Two objects without the parts, such as a whole spec, in which they are the same."""
    before, after = _tracked(old), _tracked(new)
    for name in before.keys() & after.keys():
        if before[name] == after[name]:
            del before[name], after[name]
    return before, after


def _tracked(body: Json) -> Json:
    metadata = body.get("metadata") or {}
    kept = {name: value for name, value in metadata.items() if name not in _UNTRACKED}
    rest = {name: body[name] for name in body if name not in ("apiVersion", "kind", "metadata")}
    return {"metadata": kept, **rest} if kept else rest


def _cause(owner: Owner, path: Path) -> Cause:
    return Cause("FieldManagerConflict", f'conflict with "{owner.manager}"', _spelled(path))


def _spelled(path: Path) -> str:
    """A path as conflicts name it: .spec.containers[name="a"].image."""
    return "".join(_spelled_element(element) for element in path)


def _spelled_element(element: str) -> str:
    sort, value = element[:2], element[2:]
    if sort == "f:":
        return f".{value}"
    if sort == "v:":
        return f"[={value}]"
    keys = ",".join(f"{key}={json.dumps(each)}" for key, each in json.loads(value).items())
    return f"[{keys}]"


def _with_parents(paths: Iterable[Path]) -> set[Path]:
    return {path[:length] for path in paths for length in range(1, len(path) + 1)}


# --- managedFields -------------------------------------------------------------------------


def _entries(body: Json) -> dict[Owner, Json]:
    entries = (body.get("metadata") or {}).get(FIELDS) or ()
    return {
        Owner(entry["manager"], entry["operation"], entry.get("subresource", "")): entry
        for entry in entries
    }


def _owned(body: Json) -> dict[Owner, set[Path]]:
    return {owner: _owned_by(entry) for owner, entry in _entries(body).items()}


def _owned_by(entry: Json) -> set[Path]:
    return set(_paths((), entry["fieldsV1"]))


def _with_owners(
    body: Json, owned: Mapping[Owner, set[Path]], old: Mapping[Owner, Json], writing: Writing
) -> Json:
    entries = [_entry(owner, owned[owner], old.get(owner), writing) for owner in sorted(owned)]
    metadata = {name: body["metadata"][name] for name in body["metadata"] if name != FIELDS}
    # Who owns nothing is not named, not even one who applied.
    named = [entry for entry in entries if entry["fieldsV1"]]
    return {**body, "metadata": {**metadata, FIELDS: named} if named else metadata}


def _entry(owner: Owner, paths: set[Path], old: Json | None, writing: Writing) -> Json:
    if old is not None and _owned_by(old) == paths:
        return old
    entry: Json = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": writing.api_version,
        "time": writing.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": _tree(paths),
    }
    return {**entry, "subresource": owner.subresource} if owner.subresource else entry


def _tree(paths: Iterable[Path]) -> Json:
    """Paths as fieldsV1 nests them; '.' marks one that has others below it."""
    root: Json = {}
    for path in sorted(paths, reverse=True):  # children before their parents
        at = root
        for element in path:
            at = at.setdefault(element, {})
        if at:
            at["."] = {}
    return root


def _paths(at: Path, tree: Json) -> Iterator[Path]:
    for name, below in tree.items():
        if name == ".":
            yield at
        elif below:
            yield from _paths((*at, name), below)
        else:
            yield (*at, name)


# --- values --------------------------------------------------------------------------------


def _leaves(body: Json, lists: Lists) -> dict[Path, Any]:
    """Every field that can be owned, with its value."""
    return dict(_walk((), body, lists))


def _walk(path: Path, value: Any, lists: Lists) -> Iterator[tuple[Path, Any]]:
    if _is_open(path, value) and value:
        for name, inner in value.items():
            yield from _walk((*path, f"f:{name}"), inner, lists)
    elif (items := _items(path, value, lists)) is not None:
        for element, item in items.items():
            yield (*path, element), None
            if isinstance(item, dict):
                yield from _walk((*path, element), item, lists)
    elif path and value is not None:
        yield path, value


def _is_open(path: Path, value: Any) -> bool:
    """Whether the members of a value are owned one by one."""
    return isinstance(value, dict) and not (path and path[-1] in _ATOMIC_MAPS)


def _items(path: Path, value: Any, lists: Lists) -> dict[str, Any] | None:
    """The items of a list by their path elements; None where the list is owned as a whole."""
    if not isinstance(value, list) or not path:
        return None
    for keys in lists.get(path[-1].removeprefix("f:"), ()):
        if not keys:
            return {f"v:{json.dumps(item)}": item for item in value}
        if all(isinstance(item, dict) and keys[0] in item for item in value):
            return {_key(item, keys): item for item in value}
    return None


def _key(item: Json, keys: tuple[str, ...]) -> str:
    named = {key: item.get(key, _KEY_DEFAULTS.get(key, "")) for key in sorted(keys)}
    return f"k:{json.dumps(named, separators=(',', ':'))}"


def _merged(path: Path, have: Any, want: Any, lists: Lists) -> Any:
    if _is_open(path, want):
        kept = dict(have) if isinstance(have, dict) else {}
        for name, value in want.items():
            if value is not None:
                kept[name] = _merged((*path, f"f:{name}"), kept.get(name), value, lists)
        return kept
    ours, theirs = _items(path, want, lists), _items(path, have or [], lists)
    if ours is None or theirs is None:
        return want
    order = dict.fromkeys(ours if theirs.keys() <= ours.keys() else (*theirs, *ours))
    return [
        _merged((*path, element), theirs.get(element), ours[element], lists)
        if element in ours
        else theirs[element]
        for element in order
    ]


def _without(path: Path, value: Any, gone: set[Path], lists: Lists) -> Any:
    """The value without these paths, nor the maps and lists that they leave empty."""
    if not gone:
        return value
    if isinstance(value, dict):
        members = {f"f:{name}": each for name, each in value.items()}
        left = _kept(path, members, gone, lists)
        return {element[2:]: each for element, each in left.items()}
    return list(_kept(path, _items(path, value, lists) or {}, gone, lists).values())


def _kept(path: Path, members: Json, gone: set[Path], lists: Lists) -> Json:
    kept = {}
    for element, value in members.items():
        below = {each[1:] for each in gone if each[0] == element}
        if () in below:
            continue
        left = _without((*path, element), value, below, lists)
        if left or left == value:
            kept[element] = left
    return kept
