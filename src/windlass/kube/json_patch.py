"""The difference of two JSON documents as a JSON patch (RFC 6902)."""

from collections.abc import Iterator
from typing import Any

Operation = dict[str, Any]


def difference(old: Any, new: Any) -> tuple[Operation, ...]:
    """What turns `old` into `new`; empty where they are the same."""
    return tuple(_changes("", old, new))


def _changes(path: str, old: Any, new: Any) -> Iterator[Operation]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _object_changes(path, old, new)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_changes(path, old, new)
    elif type(old) is not type(new) or old != new:  # 1, 1.0 and True are equal in Python
        yield {"op": "replace", "path": path, "value": new}


def _object_changes(path: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[Operation]:
    for name in old:
        if name not in new:
            yield {"op": "remove", "path": _member(path, name)}
    for name, value in new.items():
        if name in old:
            yield from _changes(_member(path, name), old[name], value)
        else:
            yield {"op": "add", "path": _member(path, name), "value": value}


def _list_changes(path: str, old: list[Any], new: list[Any]) -> Iterator[Operation]:
    for place, (before, after) in enumerate(zip(old, new, strict=False)):
        yield from _changes(f"{path}/{place}", before, after)
    for place in range(len(old) - 1, len(new) - 1, -1):  # from the end: places stay true
        yield {"op": "remove", "path": f"{path}/{place}"}
    for value in new[len(old) :]:
        yield {"op": "add", "path": f"{path}/-", "value": value}


def _member(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
