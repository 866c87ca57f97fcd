import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.kube.json_patch import Operation, difference

names = st.text("ab/~", max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.floats(0, 2) | st.text("ab", max_size=1),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


def applied(document: Any, patch: tuple[Operation, ...]) -> Any:
    """What the API server makes of a patch; only the operations that `difference` uses."""
    document = copy.deepcopy(document)
    for operation in patch:
        if operation["path"] == "":
            document = operation["value"]
            continue
        *parents, last = [
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"][1:].split("/")
        ]
        target = document
        for part in parents:
            target = target[int(part)] if isinstance(target, list) else target[part]
        place: Any = last
        if isinstance(target, list):
            place = len(target) if last == "-" else int(last)
        change(target, place, operation)
    return document


def change(target: Any, place: Any, operation: Operation) -> None:
    match operation["op"], target:
        case "remove", _:
            del target[place]
        case "add", list():
            target.insert(place, operation["value"])
        case "replace", list() | dict():
            assert place in target if isinstance(target, dict) else place < len(target)
            target[place] = operation["value"]
        case "add", dict():
            target[place] = operation["value"]


@given(values, values)
def test_the_difference_turns_the_old_into_the_new(old: Any, new: Any) -> None:
    assert repr(sorted_deep(applied(old, difference(old, new)))) == repr(sorted_deep(new))


def sorted_deep(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: sorted_deep(value[name]) for name in sorted(value)}
    return [sorted_deep(inner) for inner in value] if isinstance(value, list) else value


@given(values)
def test_the_same_has_no_difference(value: Any) -> None:
    assert difference(value, copy.deepcopy(value)) == ()


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ({"a": 1}, {"a": 2}, [{"op": "replace", "path": "/a", "value": 2}]),
        ({}, {"a/b~c": 1}, [{"op": "add", "path": "/a~1b~0c", "value": 1}]),
        ({"a": [1, 2, 3]}, {"a": [1]}, [
            {"op": "remove", "path": "/a/2"},
            {"op": "remove", "path": "/a/1"},
        ]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
    ],
)  # fmt: skip
def test_only_what_differs_is_said(old: Any, new: Any, want: list[Operation]) -> None:
    assert list(difference(old, new)) == want
