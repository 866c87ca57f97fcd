"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902), for the fake API server. Pure."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final


class Misfit(Exception):
    """The patch does not fit the document."""


def merged(target: Any, patch: Any) -> Any:
    """The target with a merge patch laid over it; null takes a member away."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = merged(kept.get(name), value)
    return kept


def operated(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """A copy of the document after all operations; the first that does not fit fails all."""
    root = {"": copy.deepcopy(document)}
    for operation in operations:
        act = _ACTS.get(operation.get("op", ""))
        if act is None:
            raise Misfit(f"unknown operation {operation.get('op')!r}")
        act(root, operation)
    return root[""]


# --- operations ----------------------------------------------------------------------------


def _add(root: Any, operation: Mapping[str, Any]) -> None:
    parent, last = _parent(root, operation["path"])
    value = copy.deepcopy(operation.get("value"))
    if isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _place(parent, last, len(parent)), value)
    else:
        parent[last] = value


def _remove(root: Any, operation: Mapping[str, Any]) -> None:
    parent, last = _parent(root, operation["path"])
    _value(parent, last)
    del parent[_place(parent, last) if isinstance(parent, list) else last]


def _replace(root: Any, operation: Mapping[str, Any]) -> None:
    """Unlike the RFC, the real server takes a member that is not there for a new one."""
    parent, last = _parent(root, operation["path"])
    parent[_place(parent, last) if isinstance(parent, list) else last] = operation.get("value")


def _copy(root: Any, operation: Mapping[str, Any]) -> None:
    value = _value(*_parent(root, operation["from"]))
    _add(root, {"path": operation["path"], "value": value})


def _move(root: Any, operation: Mapping[str, Any]) -> None:
    value = _value(*_parent(root, operation["from"]))
    _remove(root, {"path": operation["from"]})
    _add(root, {"path": operation["path"], "value": value})


def _test(root: Any, operation: Mapping[str, Any]) -> None:
    """Unlike the RFC, the real server takes a member that is not there for null."""
    parent, last = _parent(root, operation["path"])
    found = parent.get(last) if isinstance(parent, dict) else _value(parent, last)
    if found != operation.get("value"):
        raise Misfit(f"testing value {operation['path']} failed")


_ACTS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "copy": _copy,
    "move": _move,
    "test": _test,
}


# --- pointers ------------------------------------------------------------------------------


def _parent(root: Any, pointer: str) -> tuple[Any, str]:
    """What holds the value a pointer names, and under which name; the whole is held under ''."""
    names = [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")]
    at = root
    for name in names[:-1]:
        at = _value(at, name)
    return at, names[-1]


def _value(parent: Any, name: str) -> Any:
    if isinstance(parent, list):
        return parent[_place(parent, name)]
    if not isinstance(parent, dict) or name not in parent:
        raise Misfit(f"there is no {name!r}")
    return parent[name]


def _place(items: list[Any], name: str, most: int | None = None) -> int:
    last = len(items) - 1 if most is None else most
    if not name.isdigit() or int(name) > last:
        raise Misfit(f"there is no item {name}")
    return int(name)
