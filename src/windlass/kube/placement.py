"""Whether a Kubernetes node takes a pod: selectors, node affinity and taints. Pure.

What a pod asks of a node is read once (`demands`) and held against thousands of them (`refusal`).
Room on the node, ports and volumes are the scheduler's business.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec

from windlass.kube.meta import LabelRequirement, Part
from windlass.kube.objects import Node, PodSpec, Taint, Toleration
from windlass.values.reason import Reason

TO_START: Final = frozenset({"NoSchedule", "NoExecute"})
"""The effects of taints that keep a pod from a node that it is not on."""
TO_STAY: Final = frozenset({"NoExecute"})
"""Those that drive a pod from a node that it is on."""
NO_TAINT: Final[frozenset[str]] = frozenset()
"""For whoever asks for labels only, since taints pass."""

NAME_FIELD: Final = "metadata.name"
CORDONED: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_NUMBER: Final = re.compile(r"[-+]?[0-9]+")
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class _Term(Part, frozen=True, gc=False):
    match_expressions: list[LabelRequirement] | None = None
    match_fields: list[LabelRequirement] | None = None


class _Selector(Part, frozen=True, gc=False):
    node_selector_terms: list[_Term] | None = None


class _NodeAffinity(Part, frozen=True, gc=False):
    required: _Selector | None = msgspec.field(name=REQUIRED, default=None)


class _Affinity(Part, frozen=True, gc=False):
    node_affinity: _NodeAffinity | None = None


class _Asked(Part, frozen=True, gc=False):
    """What of a pod's spec concerns the choice of its node."""

    node_selector: dict[str, str] | None = None
    affinity: _Affinity | None = None
    tolerations: list[Toleration] | None = None


@dataclass(frozen=True, slots=True)
class Demands:
    """What a pod asks of its node."""

    selector: Mapping[str, str]
    terms: Sequence[_Term] | None
    """Of these one must hold; None where nothing is asked, empty where no node will do."""
    tolerations: Sequence[Toleration]


Spec: TypeAlias = Demands | PodSpec | Mapping[str, Any]


def demands(spec: Spec) -> Demands:
    """Raises msgspec's ValidationError of a spec that Kubernetes would not take either."""
    if isinstance(spec, Demands):
        return spec
    raw = msgspec.to_builtins(spec) if isinstance(spec, PodSpec) else spec
    asked = msgspec.convert(raw, _Asked)
    required = _required(asked)
    terms = None if required is None else tuple(required.node_selector_terms or ())
    return Demands(asked.node_selector or {}, terms, tuple(asked.tolerations or ()))


def refusal(spec: Spec, host: Node, effects: Collection[str] = TO_START) -> Reason | None:
    """Why the node does not take the pod, or not any more with `TO_STAY`; None if it does."""
    return next(_refusals(demands(spec), host, effects), None)


def pinned_to(spec: PodSpec) -> str:
    """The one node that a pod was made for; empty where there is a choice."""
    if not spec.affinity or "nodeAffinity" not in spec.affinity:
        return ""
    terms = demands({"affinity": spec.affinity}).terms or ()
    fields = [field for term in terms for field in term.match_fields or ()]
    if len(terms) != 1 or len(fields) != 1 or fields[0].key != NAME_FIELD:
        return ""
    values = fields[0].values or []
    return values[0] if fields[0].operator == "In" and len(values) == 1 else ""


def pinned(affinity: Mapping[str, Any] | None, host: str) -> dict[str, Any]:
    """An affinity for this node and no other, in place of what is required of nodes; what is
    preferred, and what is asked of other pods, stays."""
    term = {"matchFields": [{"key": NAME_FIELD, "operator": "In", "values": [host]}]}
    given = affinity or {}
    nodes = {**(given.get("nodeAffinity") or {}), REQUIRED: {"nodeSelectorTerms": [term]}}
    return {**given, "nodeAffinity": nodes}


def _required(asked: _Asked) -> _Selector | None:
    nodes = asked.affinity.node_affinity if asked.affinity else None
    return nodes.required if nodes else None


def _refusals(asked: Demands, host: Node, effects: Collection[str]) -> Iterator[Reason]:
    name, labels = host.metadata.name, host.metadata.labels or {}
    for key, value in asked.selector.items():
        if labels.get(key) != value:
            yield Reason("NodeSelectorMismatch", f"node {name} has no label {key}={value}")
    if asked.terms is not None and not any(_holds(each, name, labels) for each in asked.terms):
        yield Reason("NodeAffinityMismatch", f"node {name} is none of those in the node affinity")
    for taint in _taints(host):
        if taint.effect in effects and not any(_tolerates(t, taint) for t in asked.tolerations):
            yield Reason("TaintNotTolerated", f"node {name} has the taint {_written(taint)}")


def _taints(host: Node) -> Iterator[Taint]:
    """A cordon counts as its taint before that is there."""
    yield from host.spec.taints or ()
    if host.spec.unschedulable:
        yield CORDONED


def _written(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator == "Exists":
        return True
    same = toleration.operator in ("", "Equal") and toleration.value == taint.value
    return same and bool(toleration.key)


def _holds(term: _Term, name: str, labels: Mapping[str, str]) -> bool:
    """An empty term holds for nothing."""
    if not (term.match_expressions or term.match_fields):
        return False
    fields = {NAME_FIELD: name}
    return all(_meets(each, labels) for each in term.match_expressions or ()) and all(
        each.key == NAME_FIELD and _meets(each, fields) for each in term.match_fields or ()
    )


def _meets(asked: LabelRequirement, labels: Mapping[str, str]) -> bool:
    found, values = labels.get(asked.key), asked.values or []
    match asked.operator:
        case "In":
            return found is not None and found in values
        case "NotIn":
            return found is None or found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt":
            return _compares(asked.operator, found, values)
        case _:
            return False


def _compares(operator: str, found: str | None, values: Sequence[str]) -> bool:
    mine, bound = _number(found), _number(values[0]) if len(values) == 1 else None
    if mine is None or bound is None:
        return False
    return mine > bound if operator == "Gt" else mine < bound


def _number(text: str | None) -> int | None:
    """As Kubernetes reads one."""
    return int(text) if text and _NUMBER.fullmatch(text) else None
