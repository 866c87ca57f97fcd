"""Whether labels are those that a selector asks for."""

from collections.abc import Mapping

from windlass.kube.meta import LabelRequirement, LabelSelector


def selects(selector: LabelSelector, labels: Mapping[str, str] | None) -> bool:
    """An empty selector selects everything."""
    found = labels or {}
    same = all(found.get(name) == value for name, value in (selector.match_labels or {}).items())
    return same and all(_meets(each, found) for each in selector.match_expressions or ())


def _meets(asked: LabelRequirement, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(asked.key), asked.values or ()
    match asked.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
