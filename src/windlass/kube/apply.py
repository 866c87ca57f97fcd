"""Would a server-side apply change anything? Told from the cache, so that no no-op is sent. Pure.

A no-op apply costs the API server as much as a real one. What it would do can be foreseen from
the live object alone: `managedFields` lists every field our manager applied, and a field leaves
that list as soon as somebody else changes it. So an apply is due when

- a rendered field is not on our list, or its live value is another one;
- a field on our list is no longer rendered.

The list also says what Kubernetes' schemas would: which lists are keyed (`k:`), which are sets
(`v:`), and which values are atomic (no children).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from windlass.values.malformed import Malformed
from windlass.values.quantity import Quantity

Owned: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str, ...]

IDENTITY: Final = frozenset(
    {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}
)

# What the server adds by itself inside atomic values and to the keys of lists.
SERVER_DEFAULTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "apiVersion": ("v1",),
    "kind": ("PersistentVolumeClaim",),
    "protocol": ("TCP",),
    "divisor": ("0",),
    "scope": ("*",),
    "volumeMode": ("Filesystem",),
    "expirationSeconds": (3600,),
    "status": ({"phase": "Pending"},),
    "optional": (False,),
}

# What the server's admission adds to a pod's tolerations, an atomic list.
ADMITTED: Final = tuple(
    {
        "key": f"node.kubernetes.io/{key}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for key in ("not-ready", "unreachable")
)

QUANTITIES: Final = frozenset({"sizeLimit", "divisor"})
MAPS_OF_QUANTITIES: Final = frozenset(
    {"limits", "requests", "capacity", "allocatable", "hard", "overhead"}
)


def differences(
    rendered: Mapping[str, Any], live: Mapping[str, Any], manager: str, subresource: str = ""
) -> tuple[str, ...]:
    """The fields that applying `rendered` as `manager` would change; none: send nothing."""
    owned = owned_fields(live, manager, subresource)
    if owned is None:
        # One who applies nothing but a name owns nothing, and has no entry to be found.
        owns = any(True for _ in _unowned((), rendered))
        return ("metadata.managedFields",) if owns else ()
    return tuple(".".join(path) for path in _in_map((), rendered, live, owned))


def owned_fields(live: Mapping[str, Any], manager: str, subresource: str = "") -> Owned | None:
    """What a manager applied to an object; None when it never did."""
    for entry in live.get("metadata", {}).get("managedFields") or ():
        speaks = (entry.get("manager"), entry.get("operation"), entry.get("subresource", ""))
        if speaks == (manager, "Apply", subresource):
            fields: Owned = entry.get("fieldsV1") or {}
            return fields
    return None


# --- the walk ------------------------------------------------------------------------------


def _differing(path: Path, want: Any, have: Any, owned: Owned | None) -> Iterator[Path]:
    if path in IDENTITY:
        return
    if want is None:
        yield from () if owned is None else [path]
    elif owned is None:
        yield from _unowned(path, want)
    elif isinstance(want, Mapping) and owned:
        yield from _in_map(path, want, have or {}, owned)
    elif isinstance(want, list) and owned:
        yield from _in_list(path, want, have or [], owned)
    elif not _same(path, want, have):
        yield path


def _unowned(path: Path, want: Any) -> Iterator[Path]:
    """Nothing here is ours yet; an empty value, or one that only names the object, needs not be."""
    if isinstance(want, Mapping):
        for key, value in want.items():
            yield from _differing((*path, key), value, None, None)
    elif want != []:
        yield path


def _in_map(
    path: Path, want: Mapping[str, Any], have: Mapping[str, Any], owned: Owned
) -> Iterator[Path]:
    ours = [name.removeprefix("f:") for name in owned if name.startswith("f:")]
    for key in dict.fromkeys((*want, *ours)):
        yield from _differing((*path, key), want.get(key), have.get(key), owned.get(f"f:{key}"))


def _in_list(path: Path, want: list[Any], have: list[Any], owned: Owned) -> Iterator[Path]:
    sets = [json.loads(name[2:]) for name in owned if name.startswith("v:")]
    if sets:
        if not (_alike(want, sets) and all(value in have for value in want)):
            yield path
        return
    left = list(want)
    for name, fields in owned.items():
        if name.startswith("k:"):
            keys = json.loads(name[2:])
            item = _taken(left, keys)
            there = next((each for each in have if _matches(each, keys)), None)
            yield from _differing((*path, f"[{name[2:]}]"), item, there, fields)
    yield from ((*path, f"[{want.index(item)}]") for item in left)


def _taken(items: list[Any], keys: Mapping[str, Any]) -> Any:
    """The item of these keys, out of the list."""
    for index, item in enumerate(items):
        if _matches(item, keys):
            return items.pop(index)
    return None


def _matches(item: Any, keys: Mapping[str, Any]) -> bool:
    return isinstance(item, Mapping) and all(
        item[key] == value if key in item else value in SERVER_DEFAULTS.get(key, ())
        for key, value in keys.items()
    )


def _alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(value in other for value in one)


# --- values --------------------------------------------------------------------------------


def _same(path: Path, want: Any, have: Any) -> bool:
    """Whether an atomic value is as rendered, but for what the server writes its own way."""
    if isinstance(want, Mapping):
        return _same_map(path, want, have)
    if isinstance(want, list):
        return _same_list(path, want, have)
    if have is None:
        return not want  # Go leaves zero values out
    if isinstance(want, bool) is not isinstance(have, bool):
        return False
    return bool(want == have) or (_holds_quantity(path) and _equal_quantities(want, have))


def _same_map(path: Path, want: Mapping[str, Any], have: Any) -> bool:
    if not isinstance(have, Mapping):
        return have is None and not want
    given = {key: value for key, value in want.items() if value is not None}
    extra = [key for key, value in have.items() if key not in given and value is not None]
    return all(_same((*path, key), value, have.get(key)) for key, value in given.items()) and all(
        have[key] in SERVER_DEFAULTS.get(key, ()) for key in extra
    )


def _same_list(path: Path, want: list[Any], have: Any) -> bool:
    if not isinstance(have, list):
        return have is None and not want
    ours = [item for item in have if item in want or item not in ADMITTED]
    return len(want) == len(ours) and all(
        _same(path, one, other) for one, other in zip(want, ours, strict=True)
    )


def _holds_quantity(path: Path) -> bool:
    return path[-1] in QUANTITIES or (len(path) > 1 and path[-2] in MAPS_OF_QUANTITIES)


def _equal_quantities(want: Any, have: Any) -> bool:
    one, other = _amount(want), _amount(have)
    return one is not None and one == other


def _amount(quantity: Any) -> Quantity | None:
    try:
        return Quantity.parse(str(quantity))
    except Malformed:
        return None
