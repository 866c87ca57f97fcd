"""CustomResourceDefinitions printed from msgspec Structs: the types are the only source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from windlass.kube.schema import Rule, Schema, Unprintable, schema_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of `kubectl get`; those with a priority above 0 are shown by `-o wide`."""

    name: str
    path: str
    type: str = "string"
    description: str = ""
    priority: int = 0

    def schema(self) -> Schema:
        said: Schema = {"name": self.name, "type": self.type, "jsonPath": self.path}
        if self.description:
            said["description"] = self.description
        if self.priority:
            said["priority"] = self.priority
        return said


@dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
    """Where `kubectl scale` and autoscalers find their numbers."""

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str | None = ".status.selector"

    def schema(self) -> Schema:
        paths = {"specReplicasPath": self.spec, "statusReplicasPath": self.status}
        return paths if self.selector is None else {**paths, "labelSelectorPath": self.selector}


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """One version of a kind; `rules` see the whole object as `self`."""

    name: str
    spec: type[msgspec.Struct]
    status: type[msgspec.Struct] | None = None
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None
    rules: tuple[Rule, ...] = ()
    served: bool = True
    storage: bool = True
    deprecated: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A kind and how people call it."""

    group: str
    kind: str
    plural: str
    versions: tuple[Version, ...]
    description: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    namespaced: bool = True
    annotations: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        return f"{self.plural}.{self.group}"


def definition(kind: Kind) -> Schema:
    """The CustomResourceDefinition of a kind."""
    if [version.storage for version in kind.versions].count(True) != 1:
        raise Unprintable(kind.kind, "exactly one version has storage=True")
    names: Schema = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": kind.plural,
        "singular": kind.kind.lower(),
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    metadata: Schema = {"name": kind.name}
    if kind.annotations:
        metadata["annotations"] = dict(kind.annotations)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(kind, version) for version in kind.versions],
        },
    }


def printed(kind: Kind) -> str:
    """The CustomResourceDefinition as YAML; the same types give the same bytes."""
    return yaml.dump(
        definition(kind), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100
    )


class _Plain(yaml.SafeDumper):
    """Writes equal parts twice instead of pointing from one to the other."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - of no kind of data
        return True


def _version(kind: Kind, version: Version) -> Schema:
    said: Schema = {"name": version.name, "served": version.served, "storage": version.storage}
    if version.deprecated:
        said |= {"deprecated": True, "deprecationWarning": version.deprecated}
    if version.columns:
        said["additionalPrinterColumns"] = [column.schema() for column in version.columns]
    subresources: Schema = {}
    if version.status is not None:
        subresources["status"] = {}
    if version.scale is not None:
        subresources["scale"] = version.scale.schema()
    if subresources:
        said["subresources"] = subresources
    said["schema"] = {"openAPIV3Schema": _root(kind, version)}
    return said


def _root(kind: Kind, version: Version) -> Schema:
    properties: Schema = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": schema_of(version.spec, "spec"),
    }
    if version.status is not None:
        properties["status"] = schema_of(version.status, "status")
    root: Schema = {"type": "object"}
    if kind.description:
        root["description"] = kind.description
    root |= {"required": ["spec"], "properties": properties}
    if version.rules:
        root["x-kubernetes-validations"] = [rule.schema() for rule in version.rules]
    return root
