from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from windlass.api.accounting import Accounting
from windlass.api.controller import Controller
from windlass.api.definitions import KINDS
from windlass.api.login_set import LoginSet
from windlass.api.node_set import NodeSet
from windlass.api.rest_api import RestApi
from windlass.api.token import Token
from windlass.kube import kinds
from windlass.kube.crd import Kind, definition

BY_NAME = {kind.kind: kind for kind in KINDS}
CONTROLLER_REF = {"controllerRef": {"name": "slurm"}}
TYPES: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    ("Controller", Controller, {}),
    ("Accounting", Accounting, {}),
    ("RestApi", RestApi, CONTROLLER_REF),
    ("LoginSet", LoginSet, CONTROLLER_REF),
    ("NodeSet", NodeSet, CONTROLLER_REF),
    ("Token", Token, {"username": "alice"}),
)


def root(kind: Kind) -> dict[str, Any]:
    schema: dict[str, Any] = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def fields(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field, f"{path}.{name}")
        yield from fields(field.get("items", {}), f"{path}.{name}[]")


def defaulted(schema: dict[str, Any], value: Any) -> Any:
    """What the API server makes of a value."""
    if not isinstance(value, dict) or "properties" not in schema:
        return value
    filled = dict(value)
    for name, field in schema["properties"].items():
        if name in filled or "default" in field:
            filled[name] = defaulted(field, filled.get(name, field.get("default")))
    return filled


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_field_says_what_it_means(kind: Kind) -> None:
    properties = root(kind)["properties"]
    for part in ("spec", "status"):
        for path, field in fields(properties[part], part):
            assert field.get("description"), f"{kind.kind} {path}"


@pytest.mark.parametrize(("name", "type_", "spec"), TYPES, ids=[name for name, _, _ in TYPES])
def test_the_api_server_and_our_types_fill_in_the_same(
    name: str, type_: Any, spec: dict[str, Any]
) -> None:
    filled = defaulted(root(BY_NAME[name])["properties"]["spec"], spec)
    bare = msgspec.convert({"metadata": {}, "spec": spec}, type_)
    assert msgspec.convert({"metadata": {}, "spec": filled}, type_) == bare


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_clients_ask_for_a_kind_where_it_is_defined(kind: Kind) -> None:
    version = kind.versions[0].name
    asked = kinds.Kind(kind.group, version, kind.plural, kind.kind)
    assert asked in (
        kinds.CONTROLLER,
        kinds.ACCOUNTING,
        kinds.REST_API,
        kinds.LOGIN_SET,
        kinds.NODE_SET,
        kinds.TOKEN,
    )
