"""Whether an apply is due, from the live object alone."""

from dataclasses import dataclass
from typing import Any

import pytest

from windlass.kube.apply import differences


def live(owned: dict[str, Any], **fields: Any) -> dict[str, Any]:
    entry = {"manager": "us", "operation": "Apply", "fieldsV1": owned}
    others = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {"f:theirs": {}}}}
    metadata = {"name": "a", "namespace": "ns", "uid": "u", "managedFields": [others, entry]}
    return {"apiVersion": "v1", "kind": "X", "metadata": metadata, **fields}


def rendered(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "namespace": "ns"}, **fields}


def f(**children: Any) -> dict[str, Any]:
    return {f"f:{name}": below for name, below in children.items()}


PORTS = {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, **f(containerPort={}, name={})}}
PORT = {"containerPort": 80, "protocol": "TCP", "name": "http"}
CPU = f(spec=f(resources=f(limits=f(cpu={}))))


def limits(cpu: Any) -> dict[str, Any]:
    return {"resources": {"limits": {"cpu": cpu}}}


@dataclass(frozen=True)
class Case:
    name: str
    want: dict[str, Any]
    have: dict[str, Any]
    due: tuple[str, ...] = ()


CASES = [
    Case(
        "what is as rendered is left alone",
        rendered(data={"k": "v"}),
        live(f(data=f(k={})), data={"k": "v", "theirs": "x"}),
    ),
    Case(
        "another value is due",
        rendered(data={"k": "new"}),
        live(f(data=f(k={})), data={"k": "old"}),
        ("data.k",),
    ),
    Case(
        "a field that somebody took is due even at our value",
        rendered(data={"k": "v", "theirs": "x"}),
        live(f(data=f(k={})), data={"k": "v", "theirs": "x"}),
        ("data.theirs",),
    ),
    Case(
        "a field that is no longer rendered is due",
        rendered(data={"k": "v"}),
        live(f(data=f(k={}, gone={})), data={"k": "v", "gone": "x"}),
        ("data.gone",),
    ),
    Case(
        "a whole branch that is no longer rendered is due",
        rendered(),
        live(f(data=f(k={})), data={"k": "v"}),
        ("data",),
    ),
    Case("null is not rendered", rendered(data={"k": None}), live(f(data={}), data={})),
    Case("an empty map that nobody owns is no difference", rendered(data={}), live({})),
    Case(
        "labels count, name and namespace do not",
        {"metadata": {"name": "a", "namespace": "ns", "labels": {"app": "b"}}},
        live(f(metadata=f(labels=f(app={})))),
        ("metadata.labels.app",),
    ),
    Case("equal quantities are equal", rendered(spec=limits("1000m")), live(CPU, spec=limits("1"))),
    Case("a quantity may be a number", rendered(spec=limits(2)), live(CPU, spec=limits("2"))),
    Case(
        "binary and decimal are told apart",
        rendered(spec=limits("1G")),
        live(CPU, spec=limits("1Gi")),
        ("spec.resources.limits.cpu",),
    ),
    Case(
        "a label that looks like a quantity is a word",
        rendered(data={"k": "1000m"}),
        live(f(data=f(k={})), data={"k": "1"}),
        ("data.k",),
    ),
    Case(
        "a port number is not a port name",
        rendered(spec={"port": "80"}),
        live(f(spec=f(port={})), spec={"port": 80}),
        ("spec.port",),
    ),
    Case(
        "the server leaves out what is false",
        rendered(spec={"hostNetwork": False}),
        live(f(spec=f(hostNetwork={})), spec={}),
    ),
    Case(
        "false where nothing of ours is, is due",
        rendered(spec={"automount": False, "x": 1}),
        live(f(spec=f(x={})), spec={"x": 1}),
        ("spec.automount",),
    ),
    Case(
        "false is not nought",
        rendered(spec={"x": False}),
        live(f(spec=f(x={})), spec={"x": 0}),
        ("spec.x",),
    ),
    Case(
        "an item is found by its keys, defaults included",
        rendered(spec={"ports": [{"containerPort": 80, "name": "http"}]}),
        live(f(spec=f(ports=PORTS)), spec={"ports": [{"containerPort": 1}, PORT]}),
    ),
    Case(
        "an item that is new is due",
        rendered(spec={"ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}]}),
        live(f(spec=f(ports=PORTS)), spec={"ports": [PORT]}),
        ("spec.ports.[1]",),
    ),
    Case(
        "an item that is no longer rendered is due",
        rendered(spec={"ports": []}),
        live(f(spec=f(ports=PORTS)), spec={"ports": [PORT]}),
        ('spec.ports.[{"containerPort":80,"protocol":"TCP"}]',),
    ),
    Case(
        "a field of an item is compared",
        rendered(spec={"ports": [{"containerPort": 80, "name": "web"}]}),
        live(f(spec=f(ports=PORTS)), spec={"ports": [PORT]}),
        ('spec.ports.[{"containerPort":80,"protocol":"TCP"}].name',),
    ),
    Case(
        "a set has no order",
        rendered(spec={"words": ["b", "a"]}),
        live(f(spec=f(words={'v:"a"': {}, 'v:"b"': {}})), spec={"words": ["a", "x", "b"]}),
    ),
    Case(
        "a word that is no longer in our set is due",
        rendered(spec={"words": ["a"]}),
        live(f(spec=f(words={'v:"a"': {}, 'v:"b"': {}})), spec={"words": ["a", "b"]}),
        ("spec.words",),
    ),
    Case(
        "an atomic list is equal as a whole",
        rendered(spec={"args": ["a", "b"]}),
        live(f(spec=f(args={})), spec={"args": ["b", "a"]}),
        ("spec.args",),
    ),
    Case(
        "an atomic map may not keep what we dropped",
        rendered(spec={"nodeSelector": {"a": "1"}}),
        live(f(spec=f(nodeSelector={})), spec={"nodeSelector": {"a": "1", "b": "2"}}),
        ("spec.nodeSelector",),
    ),
    Case(
        "but may hold the server's defaults",
        rendered(spec={"fieldRef": {"fieldPath": "x"}}),
        live(f(spec=f(fieldRef={})), spec={"fieldRef": {"apiVersion": "v1", "fieldPath": "x"}}),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_apply(case: Case) -> None:
    assert differences(case.want, case.have, "us") == case.due


def test_what_we_never_applied_is_due() -> None:
    have = live(f(data=f(k={})), data={"k": "v"})
    assert differences(rendered(data={"k": "v"}), have, "another") == ("metadata.managedFields",)
    status = differences(rendered(data={"k": "v"}), have, "us", "status")
    assert status == ("metadata.managedFields",)


def test_an_object_without_managed_fields_is_due() -> None:
    have = rendered(data={"k": "v"})
    assert differences(have, have, "us") == ("metadata.managedFields",)


def test_an_object_that_is_only_named_owns_nothing_and_is_never_due() -> None:
    assert differences(rendered(), rendered(), "us") == ()
