import datetime
import enum
import subprocess
import sys
from typing import Annotated, Any, Literal

import msgspec
import pytest
import yaml
from msgspec import UNSET, Meta, Struct, UnsetType

from tests.contract.gadgets import GADGET, GadgetSpec, Port
from windlass.kube.crd import Kind, Version, definition, printed
from windlass.kube.schema import (
    IntOrString,
    Quantity,
    Unprintable,
    exactly_one_of,
    list_map,
    schema_of,
)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


class Named(Struct):
    name: str | None = None


class Nested(Struct):
    children: "list[Nested]" = []


@pytest.mark.parametrize(
    ("type_", "want"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer", "format": "int64"}),
        (Annotated[int, Meta(ge=1, le=9)], {"format": "int32", "minimum": 1, "maximum": 9}),
        (
            Annotated[int, Meta(gt=1, lt=9)],
            {"minimum": 1, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": True},
        ),
        (Annotated[float, Meta(multiple_of=0.5)], {"type": "number", "multipleOf": 0.5}),
        (bool, {"type": "boolean"}),
        (bytes, {"type": "string", "format": "byte"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (Colour, {"type": "string", "enum": ["red"]}),
        (Level, {"type": "integer", "enum": [1]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (int | None, {"type": "integer"}),
        (int | str, {"x-kubernetes-int-or-string": True}),
        (Quantity, {"x-kubernetes-int-or-string": True}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (msgspec.Raw, {"x-kubernetes-preserve-unknown-fields": True}),
        (set[str], {"type": "array", "x-kubernetes-list-type": "set"}),
        (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
        (dict[str, str], {"type": "object", "additionalProperties": {"type": "string"}}),
        (dict[str, Any], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (Annotated[dict[str, str], Meta(max_length=3)], {"maxProperties": 3}),
        (Annotated[list[str], Meta(min_length=1)], {"minItems": 1}),
        (Annotated[str, Meta(examples=["x"], description="d")], {"example": "x"}),
    ],
)
def test_a_type_becomes_its_schema(type_: Any, want: dict[str, Any]) -> None:
    said = schema_of(type_)
    assert {name: said.get(name) for name in want} == want


@pytest.mark.parametrize(
    ("type_", "words"),
    [
        (Nested, r"spec.children\[\]: Nested contains itself"),
        (dict[int, str], "spec: the keys of a map are strings"),
        (int | bool, "spec: of unions only"),
        (Mixed, "spec: Enums must contain either all str or all int"),
        (complex, "spec: no schema for"),
        (Annotated[list[Port], list_map("nam")], "spec: list_map\\('nam'\\) names no field"),
        (Annotated[list[Named], list_map("name")], "make that field required, or default it"),
    ],
)
def test_what_cannot_be_told_is_refused_with_its_field(type_: Any, words: str) -> None:
    with pytest.raises(Unprintable, match=words):
        schema_of(type_, "spec")


def test_a_field_is_required_unless_it_has_a_default_or_may_be_none() -> None:
    class Spec(Struct):
        given: str
        maybe: str | None
        defaulted: str = "x"
        unset: str | UnsetType = UNSET

    said = schema_of(Spec)
    assert said["required"] == ["given"]
    assert said["properties"]["unset"] == {"type": "string"}


def test_defaults_are_copied_and_empty_ones_left_out() -> None:
    properties = schema_of(GadgetSpec)["properties"]
    defaults = {name: said["default"] for name, said in properties.items() if "default" in said}
    assert defaults == {
        "replicas": 1,
        "most": 10,
        "mode": "Safe",
        "paused": False,
        "limits": {"memory": "1Gi", "maxUnavailable": "25%"},
    }


def test_a_default_is_told_in_full_where_a_struct_would_not_write_it() -> None:
    class Inner(Struct, frozen=True, omit_defaults=True, rename="camel"):
        on: bool = True
        at_most: int = 3
        note: str = ""

    class Outer(Struct):
        inner: Inner = Inner()

    assert schema_of(Outer)["properties"]["inner"]["default"] == {"on": True, "atMost": 3}


def test_descriptions_come_from_docstrings_and_meta() -> None:
    said = schema_of(GadgetSpec)
    assert said["description"] == "What a gadget should be.\n\nA second paragraph is kept."
    assert said["properties"]["replicas"]["description"] == "How many there are."
    assert said["properties"]["source"]["description"] == "Where the configuration comes from."
    assert "description" not in said["properties"]["ports"]["items"]


def test_an_int_or_string_says_so_in_both_ways() -> None:
    said = schema_of(IntOrString)
    assert said["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert said["x-kubernetes-int-or-string"] is True
    assert "type" not in said


def test_exactly_one_of_counts_its_members() -> None:
    rule = exactly_one_of("a", "b")
    assert rule.cel == "(has(self.a) ? 1 : 0) + (has(self.b) ? 1 : 0) == 1"
    assert rule.message == "give exactly one of a, b"


def test_the_printed_yaml_says_what_the_definition_says_without_references() -> None:
    text = printed(GADGET)
    assert yaml.safe_load(text) == definition(GADGET)
    assert "&id" not in text
    assert "$ref" not in text


def test_another_process_prints_the_same_bytes() -> None:
    code = "from tests.contract.gadgets import *; from windlass.kube.crd import printed\n"
    code += "import sys; sys.stdout.write(printed(GADGET))"
    for seed in ("1", "2"):
        again = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            check=True,
            text=True,
        )
        assert again.stdout == printed(GADGET)


def test_a_kind_is_stored_in_exactly_one_version() -> None:
    twice = tuple(Version(name=name, spec=GadgetSpec) for name in ("v1", "v2"))
    with pytest.raises(Unprintable, match="exactly one version has storage=True"):
        definition(Kind(group="g", kind="K", plural="ks", versions=twice))
