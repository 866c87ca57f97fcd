from typing import Any

import msgspec
import pytest

from windlass.bridge.selecting import selects
from windlass.kube.meta import LabelSelector


def needs(operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "team", "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("selector", "labels", "selected"),
    [
        ({}, None, True),
        ({"matchLabels": {"team": "a"}}, {"team": "a", "x": "y"}, True),
        ({"matchLabels": {"team": "a"}}, {"team": "b"}, False),
        ({"matchLabels": {"team": ""}}, None, False),
        (needs("In", "a", "b"), {"team": "b"}, True),
        (needs("In", "a"), {}, False),
        (needs("NotIn", "a"), {}, True),
        (needs("NotIn", "a"), {"team": "a"}, False),
        (needs("Exists"), {"team": ""}, True),
        (needs("Exists"), {}, False),
        (needs("DoesNotExist"), {}, True),
        (needs("DoesNotExist"), {"team": "a"}, False),
        (needs("Near", "a"), {"team": "a"}, False),
    ],
)
def test_labels_are_held_against_a_selector(
    selector: dict[str, Any], labels: dict[str, str] | None, selected: bool
) -> None:
    assert selects(msgspec.convert(selector, LabelSelector), labels) is selected
