from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.kube.objects import Node, PodSpec
from windlass.kube.placement import TO_STAY, demands, pinned, pinned_to, refusal

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def host(name: str = "n1", **given: Any) -> Node:
    spec = {
        "taints": [taint(each) for each in given.get("taints", ())],
        "unschedulable": given.get("cordoned", False),
    }
    body = {"metadata": {"name": name, "labels": given.get("labels")}, "spec": spec}
    return msgspec.convert(body, Node)


def taint(written: str) -> dict[str, str]:
    left, _, effect = written.partition(":")
    key, _, value = left.partition("=")
    return {"key": key, "value": value, "effect": effect}


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def expressions(*asked: tuple[str, str, list[str]]) -> dict[str, Any]:
    found = [
        {"key": key, "operator": operator, "values": values} for key, operator, values in asked
    ]
    return {"matchExpressions": found}


def fields(operator: str, *names: str) -> dict[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": operator, "values": list(names)}]}


def why(spec: dict[str, Any], of: Node) -> str:
    found = refusal(spec, of)
    return found.code if found else ""


@pytest.mark.parametrize(
    ("selector", "labels", "fits"),
    [
        (None, {}, True),
        ({}, None, True),
        ({"gpu": "yes"}, {"gpu": "yes", "rack": "1"}, True),
        ({"gpu": "yes"}, {"gpu": "no"}, False),
        ({"gpu": "yes"}, None, False),
        ({"gpu": ""}, {}, False),
        ({"gpu": ""}, {"gpu": ""}, True),
        ({"gpu": "yes", "rack": "2"}, {"gpu": "yes", "rack": "1"}, False),
    ],
)
def test_every_label_of_the_selector_must_be_there(
    selector: Any, labels: Any, *, fits: bool
) -> None:
    found = why({"nodeSelector": selector}, host(labels=labels))

    assert found == ("" if fits else "NodeSelectorMismatch")


@pytest.mark.parametrize(
    ("operator", "values", "label", "fits"),
    [
        ("In", ["a", "b"], "b", True),
        ("In", ["a", "b"], "c", False),
        ("In", ["a"], None, False),
        ("NotIn", ["a"], "b", True),
        ("NotIn", ["a"], "a", False),
        ("NotIn", ["a"], None, True),
        ("Exists", [], "", True),
        ("Exists", [], None, False),
        ("DoesNotExist", [], None, True),
        ("DoesNotExist", [], "a", False),
        ("Gt", ["5"], "6", True),
        ("Gt", ["5"], "5", False),
        ("Gt", ["-5"], "-4", True),
        ("Gt", ["9"], "10", True),
        ("Gt", ["5"], None, False),
        ("Gt", ["5"], "many", False),
        ("Gt", ["5"], "+6", True),
        ("Gt", ["-+5"], "6", False),
        ("Gt", ["five"], "6", False),
        ("Gt", ["5", "6"], "7", False),
        ("Gt", ["5"], "\u0666", False),
        ("Lt", ["5"], "4", True),
        ("Lt", ["5"], "5", False),
        ("Lt", ["5"], "", False),
        ("Like", ["a"], "a", False),
    ],
)
def test_an_expression_is_read_as_kubernetes_reads_it(
    operator: str, values: list[str], label: str | None, *, fits: bool
) -> None:
    labels = {} if label is None else {"key": label}
    found = why(affinity(expressions(("key", operator, values))), host(labels=labels))

    assert found == ("" if fits else "NodeAffinityMismatch")


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([], False),
        ([{}], False),
        ([expressions(("a", "Exists", []))], True),
        ([expressions(("a", "Exists", []), ("b", "Exists", []))], False),
        ([expressions(("b", "Exists", [])), expressions(("a", "Exists", []))], True),
        ([fields("In", "n1")], True),
        ([fields("In", "n2")], False),
        ([fields("NotIn", "n1")], False),
        ([fields("NotIn", "n2")], True),
        ([{**fields("In", "n1"), **expressions(("b", "Exists", []))}], False),
        ([{**fields("In", "n1"), **expressions(("a", "Exists", []))}], True),
        ([{"matchFields": [{"key": "spec.x", "operator": "DoesNotExist"}]}], False),
    ],
)
def test_one_term_must_hold_with_all_that_is_in_it(
    terms: list[dict[str, Any]], *, fits: bool
) -> None:
    found = why(affinity(*terms), host(labels={"a": "1"}))

    assert found == ("" if fits else "NodeAffinityMismatch")


def test_what_is_preferred_is_not_required() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]}

    assert why({"affinity": {"nodeAffinity": preferred, "podAffinity": {}}}, host()) == ""
    assert why({"affinity": None, "tolerations": None}, host()) == ""


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "gpu", "operator": "Equal", "value": "a"}, True),
        ({"key": "gpu", "value": "a"}, True),
        ({"key": "gpu", "value": "b"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists"}, True),
        ({"operator": "Equal", "value": "a"}, False),
        ({"key": "gpu", "operator": "Like", "value": "a"}, False),
    ],
)
def test_a_taint_is_tolerated_as_kubernetes_tolerates_it(
    toleration: dict[str, str], *, fits: bool
) -> None:
    found = why({"tolerations": [toleration]}, host(taints=["gpu=a:NoSchedule"]))

    assert found == ("" if fits else "TaintNotTolerated")


@pytest.mark.parametrize(
    ("given", "starts", "stays"),
    [
        ({}, True, True),
        ({"taints": ["a:PreferNoSchedule"]}, True, True),
        ({"taints": ["a:NoSchedule"]}, False, True),
        ({"taints": ["a:NoExecute"]}, False, False),
        ({"taints": ["a:NoSchedule", "b:NoExecute"]}, False, False),
        ({"cordoned": True}, False, True),
    ],
)
def test_staying_on_a_node_takes_less_than_coming_to_it(
    given: dict[str, Any], *, starts: bool, stays: bool
) -> None:
    of = host(**given)

    assert (refusal({}, of) is None) == starts
    assert (refusal({}, of, TO_STAY) is None) == stays


def test_who_tolerates_the_taint_of_a_cordon_tolerates_the_cordon() -> None:
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}

    assert refusal({"tolerations": [toleration]}, host(cordoned=True)) is None


def test_a_refusal_says_what_is_wrong_with_which_node() -> None:
    assert str(refusal({"nodeSelector": {"gpu": "yes"}}, host())) == (
        "NodeSelectorMismatch: node n1 has no label gpu=yes"
    )
    assert str(refusal({}, host(taints=["gpu=a:NoSchedule"]))) == (
        "TaintNotTolerated: node n1 has the taint gpu=a:NoSchedule"
    )


def test_a_pinned_pod_fits_one_node_and_keeps_what_else_it_asks() -> None:
    theirs: dict[str, Any] = {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [expressions(("zone", "In", ["a"]))]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}],
        },
        "podAntiAffinity": {"x": 1},
    }
    made = pinned(theirs, "n1")

    assert refusal({"affinity": made}, host("n1")) is None
    assert refusal({"affinity": made}, host("n2")) is not None
    assert made["podAntiAffinity"] == {"x": 1}
    assert "preferredDuringSchedulingIgnoredDuringExecution" in made["nodeAffinity"]
    assert theirs["nodeAffinity"][REQUIRED] == {
        "nodeSelectorTerms": [expressions(("zone", "In", ["a"]))]
    }
    assert pinned_to(PodSpec(affinity=made)) == "n1"


@pytest.mark.parametrize(
    "given",
    [
        {},
        affinity(),
        affinity(expressions(("a", "In", ["b"]))),
        affinity(fields("NotIn", "n1")),
        affinity(fields("In", "n1", "n2")),
        affinity(fields("In", "n1"), fields("In", "n2")),
        affinity({"matchFields": [{"key": "x", "operator": "In", "values": ["n1"]}]}),
        {"affinity": {"podAntiAffinity": {}}},
    ],
)
def test_a_pod_with_a_choice_is_pinned_to_none(given: dict[str, Any]) -> None:
    assert pinned_to(msgspec.convert(given, PodSpec)) == ""


# --- whatever is asked ------------------------------------------------------------------------

keys = st.sampled_from(["a", "b"])
words = st.sampled_from(["", "1", "2", "x"])
labels = st.dictionaries(keys, words)
effects = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
taints = st.lists(st.builds("{}={}:{}".format, keys, words, effects), max_size=3)
hosts = st.builds(
    lambda labels, taints, cordoned: host(labels=labels, taints=taints, cordoned=cordoned),
    *(labels, taints, st.booleans()),
)
tolerations = st.fixed_dictionaries(
    {},
    optional={
        "key": keys,
        "operator": st.sampled_from(["Exists", "Equal"]),
        "value": words,
        "effect": effects,
    },
)
requirements = st.tuples(
    keys,
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]),
    st.lists(words, max_size=2),
)
terms = st.lists(requirements, min_size=1, max_size=2).map(lambda found: expressions(*found))
specs = st.builds(
    lambda selector, asked, tolerated: {
        "nodeSelector": selector,
        "tolerations": tolerated,
        **(affinity(*asked) if asked is not None else {}),
    },
    *(labels, st.none() | st.lists(terms, max_size=2), st.lists(tolerations, max_size=2)),
)


@given(spec=specs, of=hosts)
def test_who_may_start_may_stay(spec: dict[str, Any], of: Node) -> None:
    if refusal(spec, of) is None:
        assert refusal(spec, of, TO_STAY) is None


@given(spec=specs, of=hosts)
def test_it_is_the_same_of_a_dictionary_a_pod_and_its_demands(
    spec: dict[str, Any], of: Node
) -> None:
    found = refusal(spec, of)

    assert refusal(msgspec.convert(spec, PodSpec), of) == found
    assert refusal(demands(spec), of) == found


@given(spec=specs, of=hosts)
def test_who_tolerates_everything_is_kept_away_by_labels_only(
    spec: dict[str, Any], of: Node
) -> None:
    found = refusal({**spec, "tolerations": [{"operator": "Exists"}]}, of)

    assert found is None or found.code != "TaintNotTolerated"
    assert found == refusal({**spec, "tolerations": []}, host(labels=of.metadata.labels))


@given(spec=specs, more=terms, of=hosts)
def test_a_further_term_opens_more_nodes_and_closes_none(
    spec: dict[str, Any], more: dict[str, Any], of: Node
) -> None:
    if refusal(spec, of) is None and "affinity" in spec:
        wider = spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
        assert refusal({**spec, **affinity(*wider, more)}, of) is None


@given(key=keys, values=st.lists(words, min_size=1, max_size=2), of=hosts)
def test_in_and_not_in_are_opposites(key: str, values: list[str], of: Node) -> None:
    bare = host(labels=of.metadata.labels)
    inside = refusal(affinity(expressions((key, "In", values))), bare)
    outside = refusal(affinity(expressions((key, "NotIn", values))), bare)

    assert (inside is None) != (outside is None)
