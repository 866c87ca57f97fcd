"""A kind that uses everything a CRD can say; for tests of the generator."""

import enum
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct, field

from windlass.kube.crd import Column, Kind, Scale, Version
from windlass.kube.schema import (
    ATOMIC,
    PRESERVE,
    SET,
    IntOrString,
    Quantity,
    Rule,
    exactly_one_of,
    immutable,
    list_map,
    rules,
)


class Mode(enum.Enum):
    FAST = "Fast"
    SAFE = "Safe"


class Ref(Struct, rename="camel", kw_only=True):
    """Another object of the namespace."""

    name: Annotated[str, Meta(min_length=1, max_length=63)]
    key: str = ""


class Port(Struct, rename="camel", kw_only=True):
    name: Annotated[str, Meta(max_length=15, pattern="^[a-z]+$")]
    port: Annotated[int, Meta(gt=0, lt=65536)]
    protocol: Literal["TCP", "UDP"] = "TCP"


class Limits(Struct, rename="camel", kw_only=True):
    memory: Quantity = "1Gi"
    max_unavailable: IntOrString = "25%"


class Source(Struct, rename="camel", kw_only=True):
    """Where the configuration comes from."""

    __rules__: ClassVar[tuple[Rule, ...]] = (exactly_one_of("secret", "text"),)

    secret: Annotated[Ref | None, ATOMIC] = None
    text: Annotated[str, Meta(max_length=1000)] | None = None


class GadgetSpec(Struct, rename="camel", kw_only=True):
    """What a gadget should be.

    A second paragraph is kept.
    """

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule("self.replicas <= self.most", "replicas cannot exceed most", ".replicas"),
        immutable("clusterName"),
    )

    cluster_name: str
    replicas: Annotated[int, Meta(ge=0, le=1000, description="How many there are.")] = 1
    most: Annotated[int, Meta(ge=0, le=1000)] = 10
    mode: Mode = Mode.SAFE
    paused: bool = False
    ratio: Annotated[float, Meta(ge=0, le=1)] | None = None
    limits: Limits = field(default_factory=Limits)
    ports: Annotated[list[Port], list_map("name"), Meta(max_length=16)] = []
    features: Annotated[list[str], SET, Meta(max_length=8)] = []
    source: Source | None = None
    extra: dict[str, str] = {}
    template: Annotated[dict[str, Any], PRESERVE] = {}
    blob: Any = None
    even: Annotated[int | None, rules(Rule("self % 2 == 0", "an even number"))] = None


class Condition(Struct, rename="camel", kw_only=True):
    type: str
    status: Literal["True", "False", "Unknown"]


class GadgetStatus(Struct, rename="camel", kw_only=True):
    replicas: int = 0
    selector: str = ""
    conditions: Annotated[list[Condition], list_map("type")] = []


GADGET = Kind(
    group="tests.windlass.dev",
    kind="Gadget",
    plural="gadgets",
    description="A thing for tests.",
    short_names=("gdg",),
    categories=("testing",),
    versions=(
        Version(
            name="v1",
            spec=GadgetSpec,
            status=GadgetStatus,
            scale=Scale(),
            columns=(
                Column(name="Replicas", path=".spec.replicas", type="integer"),
                Column(name="Mode", path=".spec.mode", priority=1, description="How it works."),
            ),
        ),
        Version(name="v1alpha1", spec=GadgetSpec, storage=False, deprecated="use v1"),
    ),
)
