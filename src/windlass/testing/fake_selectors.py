"""Which objects a request means: label and field selectors of the fake API server. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from windlass.kube.kinds import Kind
from windlass.testing import fake_refusals as refusals

Json = dict[str, Any]
Test = Callable[[Json], bool]

_SET: Final = re.compile(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)")
_EQUAL: Final = re.compile(r"([^=!\s]+)\s*(==|=|!=)\s*(\S*)")
_COMMA: Final = re.compile(r",(?![^(]*\))")

_EVERY_KIND: Final = frozenset({"metadata.name", "metadata.namespace"})
_FIELDS: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("", "pods"): frozenset(
        {
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        }
    ),
    ("", "nodes"): frozenset({"spec.unschedulable"}),
    ("", "namespaces"): frozenset({"status.phase"}),
    ("", "secrets"): frozenset({"type"}),
    ("", "services"): frozenset({"spec.clusterIP", "spec.type"}),
    ("batch", "jobs"): frozenset({"status.successful"}),
    ("events.k8s.io", "events"): frozenset(
        {
            "reason",
            "type",
            "reportingController",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
        }
    ),
}


def chosen(kind: Kind, labels: str, fields: str) -> Test:
    """Whether an object is meant; an empty selector means all."""
    tests = [*_label_tests(labels), *_field_tests(kind, fields)]
    return lambda body: all(test(body) for test in tests)


def matches(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a LabelSelector, as objects hold them, picks these labels."""
    wanted = (selector.get("matchLabels") or {}).items()
    return all(labels.get(key) == value for key, value in wanted) and all(
        _required(labels, rule) for rule in selector.get("matchExpressions") or ()
    )


def _required(labels: Mapping[str, str], rule: Mapping[str, Any]) -> bool:
    key, values = rule["key"], rule.get("values") or ()
    match rule["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


# --- labels --------------------------------------------------------------------------------


def _label_tests(text: str) -> Iterator[Test]:
    for part in _COMMA.split(text) if text else ():
        yield _label_test(_label_rule(part.strip()))


def _label_test(rule: Json) -> Test:
    return lambda body: _required(body["metadata"].get("labels") or {}, rule)


def _label_rule(text: str) -> Json:
    if found := _SET.fullmatch(text):
        values = [value.strip() for value in found[3].split(",")]
        return {
            "key": found[1],
            "operator": "In" if found[2] == "in" else "NotIn",
            "values": values,
        }
    if found := _EQUAL.fullmatch(text):
        operator = "NotIn" if found[2] == "!=" else "In"
        return {"key": found[1], "operator": operator, "values": [found[3]]}
    if not text.removeprefix("!") or " " in text:
        raise refusals.bad_request(f"unable to parse the label selector {text!r}")
    return {
        "key": text.removeprefix("!"),
        "operator": "DoesNotExist" if text[0] == "!" else "Exists",
    }


# --- fields --------------------------------------------------------------------------------


def _field_tests(kind: Kind, text: str) -> Iterator[Test]:
    for part in text.split(",") if text else ():
        found = _EQUAL.fullmatch(part.strip())
        if found is None:
            raise refusals.bad_request(f"unable to parse the field selector {part!r}")
        name, operator, value = found.groups()
        if name not in _EVERY_KIND | _FIELDS.get((kind.group, kind.plural), frozenset()):
            raise refusals.bad_request(f"field label not supported: {name}")
        yield _field_test(name.split("."), value, wanted=operator != "!=")


def _field_test(names: list[str], value: str, *, wanted: bool) -> Test:
    return lambda body: (_text(body, names) == value) is wanted


def _text(body: Any, names: list[str]) -> str:
    """A field as selectors compare it: what is absent is the empty word, or false."""
    for name in names:
        body = (body or {}).get(name)
    if isinstance(body, bool) or names[-1] in ("hostNetwork", "unschedulable"):
        return str(bool(body)).lower()
    return "" if body is None else str(body)
