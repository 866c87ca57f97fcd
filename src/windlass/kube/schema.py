"""Structural schemas from msgspec types: what the API server needs to know about a field.

A structural schema has no references, so everything is written in place. What a type cannot say is
said beside it with `Annotated`: `Annotated[list[Port], list_map("name")]`; rules over a whole
Struct stand in its `__rules__`.
"""

import inspect as python
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta
from msgspec import inspect as types

Schema = dict[str, Any]

INT32_MAX: Final = 2**31 - 1
QUANTITY: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"


class Unprintable(TypeError):
    """A type that no structural schema can hold; the sentence names the field and the way out."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


# --- What is said beside a type ------------------------------------------------------------

IntOrString = Annotated[
    int | str, Meta(extra_json_schema={"anyOf": [{"type": "integer"}, {"type": "string"}]})
]
Quantity = Annotated[
    int | Annotated[str, Meta(pattern=QUANTITY)],
    Meta(extra_json_schema={"anyOf": [{"type": "integer"}, {"type": "string"}]}),
]
SET: Final = Meta(extra_json_schema={"x-kubernetes-list-type": "set"})
ATOMIC_LIST: Final = Meta(extra_json_schema={"x-kubernetes-list-type": "atomic"})
ATOMIC: Final = Meta(extra_json_schema={"x-kubernetes-map-type": "atomic"})
PRESERVE: Final = Meta(extra_json_schema={"x-kubernetes-preserve-unknown-fields": True})


def list_map(*keys: str) -> Meta:
    """A list whose entries are told apart by these fields, and merged by them."""
    return Meta(
        extra_json_schema={
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": list(keys),
        }
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence in CEL that must hold, and what to say where it does not."""

    cel: str
    message: str
    field: str | None = None
    reason: str | None = None

    def schema(self) -> Schema:
        said = {
            "rule": self.cel,
            "message": self.message,
            "fieldPath": self.field,
            "reason": self.reason,
        }
        return {name: value for name, value in said.items() if value is not None}


def rules(*given: Rule) -> Meta:
    """Rules over one field."""
    return Meta(extra_json_schema={"x-kubernetes-validations": [rule.schema() for rule in given]})


def exactly_one_of(*fields: str) -> Rule:
    """What a tagged union becomes: optional members, of which one is given."""
    count = " + ".join(f"(has(self.{field}) ? 1 : 0)" for field in fields)
    return Rule(f"{count} == 1", f"give exactly one of {', '.join(fields)}")


def immutable(field: str) -> Rule:
    """A field that stays what it was when the object was made."""
    return Rule(f"self.{field} == oldSelf.{field}", f"{field} cannot be changed", f".{field}")


# --- Types to schemas ------------------------------------------------------------------------


def schema_of(type_: Any, path: str = "") -> Schema:
    """The structural schema of a type."""
    try:
        known = types.type_info(type_)
    except TypeError as error:  # msgspec names the type, we the place
        raise Unprintable(path, str(error)) from error
    return _Walk(path, ()).schema(known)


@dataclass(frozen=True, slots=True)
class _Walk:
    """Where we are: the path for errors, and the Structs we are inside of."""

    path: str
    inside: tuple[type, ...]

    def refuse(self, problem: str) -> Unprintable:
        return Unprintable(self.path, problem)

    def into(self, name: str) -> "_Walk":
        return _Walk(f"{self.path}.{name}".lstrip("."), self.inside)

    def schema(self, type_: types.Type) -> Schema:
        write = WRITERS.get(type(type_))
        if write is None:
            raise self.refuse(f"no schema for {type(type_).__name__}; use a simpler type")
        return write(self, type_)

    def metadata(self, type_: types.Metadata) -> Schema:
        said = {**self.schema(type_.type), **(type_.extra_json_schema or {})}
        if examples := said.pop("examples", None):  # OpenAPI 3.0 knows one
            said["example"] = examples[0]
        self._check_list_map(said)
        return said

    def _check_list_map(self, said: Schema) -> None:
        for key in said.get("x-kubernetes-list-map-keys", ()):
            entry = said.get("items", {})
            known = entry.get("properties", {}).get(key)
            if known is None:
                raise self.refuse(f"list_map({key!r}) names no field of its entries")
            if key not in entry.get("required", ()) and "default" not in known:
                raise self.refuse(f"list_map({key!r}): make that field required, or default it")

    def text(self, type_: types.StrType) -> Schema:
        limits = {
            "minLength": type_.min_length,
            "maxLength": type_.max_length,
            "pattern": type_.pattern,
        }
        return {"type": "string", **_given(limits)}

    def integer(self, type_: types.IntType) -> Schema:
        small = type_.le is not None and type_.le <= INT32_MAX
        return {"type": "integer", "format": "int32" if small else "int64", **_bounds(type_)}

    def number(self, type_: types.FloatType) -> Schema:
        return {"type": "number", "format": "double", **_bounds(type_)}

    def boolean(self, _: types.BoolType) -> Schema:
        return {"type": "boolean"}

    def moment(self, _: types.DateTimeType) -> Schema:
        return {"type": "string", "format": "date-time"}

    def data(self, _: types.BytesType) -> Schema:
        return {"type": "string", "format": "byte"}

    def anything(self, _: types.AnyType | types.RawType) -> Schema:
        return {"x-kubernetes-preserve-unknown-fields": True}

    def choice(self, type_: types.EnumType) -> Schema:
        return self._one_of([member.value for member in type_.cls])

    def literal(self, type_: types.LiteralType) -> Schema:
        return self._one_of(list(type_.values))

    def _one_of(self, values: list[Any]) -> Schema:
        if all(isinstance(value, str) for value in values):
            return {"type": "string", "enum": values}
        if all(isinstance(value, int) for value in values):
            return {"type": "integer", "enum": values}
        raise self.refuse("an enum has either strings or integers as values")

    def sequence(self, type_: types.ListType | types.VarTupleType) -> Schema:
        limits = {"minItems": type_.min_length, "maxItems": type_.max_length}
        items = _Walk(f"{self.path}[]", self.inside).schema(type_.item_type)
        return {"type": "array", "items": items, **_given(limits)}

    def unordered(self, type_: types.SetType | types.FrozenSetType) -> Schema:
        listed = types.ListType(type_.item_type, type_.min_length, type_.max_length)
        return {**self.sequence(listed), "x-kubernetes-list-type": "set"}

    def mapping(self, type_: types.DictType) -> Schema:
        if not isinstance(type_.key_type, types.StrType):
            raise self.refuse("the keys of a map are strings")
        said: Schema = {"type": "object"}
        if isinstance(type_.value_type, types.AnyType):
            said["x-kubernetes-preserve-unknown-fields"] = True
        else:
            said["additionalProperties"] = self.into("*").schema(type_.value_type)
        return {
            **said,
            **_given({"minProperties": type_.min_length, "maxProperties": type_.max_length}),
        }

    def union(self, type_: types.UnionType) -> Schema:
        members = [member for member in type_.types if not isinstance(member, types.NoneType)]
        if len(members) == 1:
            return self.schema(members[0])
        if {type(member) for member in members} == {types.IntType, types.StrType}:
            text = next(member for member in members if isinstance(member, types.StrType))
            said = self.text(text)
            del said["type"]
            return {"x-kubernetes-int-or-string": True, **said}
        raise self.refuse(
            "of unions only `T | None` and `int | str` can be told; for others use a Struct of "
            "optional members with exactly_one_of(...) in its __rules__"
        )

    def struct(self, type_: types.StructType) -> Schema:
        if type_.cls in self.inside:
            raise self.refuse(
                f"{type_.cls.__name__} contains itself; use dict[str, Any] at one of its levels"
            )
        walk = _Walk(self.path, (*self.inside, type_.cls))
        said: Schema = {"type": "object"}
        if type_.cls.__doc__:
            said["description"] = python.cleandoc(type_.cls.__doc__)
        required = [field.encode_name for field in type_.fields if _required(field)]
        if required:
            said["required"] = required
        said["properties"] = {
            field.encode_name: walk.into(field.encode_name).field(field) for field in type_.fields
        }
        given: tuple[Rule, ...] = getattr(type_.cls, "__rules__", ())
        if given:
            said["x-kubernetes-validations"] = [rule.schema() for rule in given]
        return said

    def field(self, field: types.Field) -> Schema:
        said = self.schema(field.type)
        default = _default(field)
        return said if default is None else {**said, "default": default}


def _given(limits: Mapping[str, Any]) -> Schema:
    return {name: value for name, value in limits.items() if value is not None}


def _bounds(type_: types.IntType | types.FloatType) -> Schema:
    """OpenAPI 3.0 says "exclusive" with a boolean beside the bound, JSON Schema with a number."""
    said = _given({"minimum": type_.ge, "maximum": type_.le, "multipleOf": type_.multiple_of})
    if type_.gt is not None:
        said |= {"minimum": type_.gt, "exclusiveMinimum": True}
    if type_.lt is not None:
        said |= {"maximum": type_.lt, "exclusiveMaximum": True}
    return said


def _required(field: types.Field) -> bool:
    return field.required and not _optional(field.type)


def _optional(type_: types.Type) -> bool:
    if isinstance(type_, types.Metadata):
        return _optional(type_.type)
    return isinstance(type_, types.UnionType) and type_.includes_none


def _default(field: types.Field) -> Any:
    """What the API server fills in; None where it fills nothing in.

    Empty lists, maps and strings mean "not given" to us, so they are not written into objects.
    """
    value = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is msgspec.NODEFAULT or value is msgspec.UNSET:
        return None
    plain = _without_empty(value)
    return None if _empty(plain) else plain


def _without_empty(value: Any) -> Any:
    """As JSON; also of a Struct with omit_defaults, whose defaults are what is asked for."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        value = {field.encode_name: getattr(value, field.name) for field in fields}
    if isinstance(value, dict):
        kept = {name: _without_empty(inner) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if not _empty(inner)}
    return msgspec.to_builtins(value)


def _empty(value: Any) -> bool:
    return value is None or value in ("", [], {}, ())


WRITERS: Final[dict[type[types.Type], Callable[[_Walk, Any], Schema]]] = {
    types.AnyType: _Walk.anything,
    types.RawType: _Walk.anything,
    types.BoolType: _Walk.boolean,
    types.BytesType: _Walk.data,
    types.DateTimeType: _Walk.moment,
    types.DictType: _Walk.mapping,
    types.EnumType: _Walk.choice,
    types.FloatType: _Walk.number,
    types.FrozenSetType: _Walk.unordered,
    types.IntType: _Walk.integer,
    types.ListType: _Walk.sequence,
    types.LiteralType: _Walk.literal,
    types.Metadata: _Walk.metadata,
    types.SetType: _Walk.unordered,
    types.StrType: _Walk.text,
    types.StructType: _Walk.struct,
    types.UnionType: _Walk.union,
    types.VarTupleType: _Walk.sequence,
}
