"""Writes the chart of the kinds and their reference from the types, or says what is stale."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from tools.pages import keep
from windlass.api.definitions import KINDS
from windlass.kube.crd import Kind, definition, printed

CHART: Final = "charts/windlass-crds"

KEEP: Final = """\
  {{- if .Values.keep }}
  annotations:
    helm.sh/resource-policy: keep
  {{- end }}
"""

HEAD: Final = """\
# The custom resources

Made from the types by `make generate`. The group is `slinky.slurm.net/v1beta1`.

A default is filled in by the API server, so `kubectl get -o yaml` shows it. `PodSpec`,
`Container` and the like are Kubernetes' own and are checked when the pod is made.
"""

Schema = Mapping[str, Any]


def template(kind: Kind) -> str:
    """The definition of a kind as a Helm template."""
    text = printed(kind)
    if "{{" in text:
        raise ValueError(f"{kind.kind}: Helm would take a {{{{ of a description for its own")
    name = f"metadata:\n  name: {kind.name}\n"
    head, found, rest = text.partition(name)
    if not found:
        raise ValueError(f"{kind.kind}: its metadata is more than a name")
    return f"# Made from the types by `make generate`.\n{head}{found}{KEEP}{rest}"


def reference() -> str:
    return HEAD + "".join(part for kind in KINDS for part in _kind(kind))


def _kind(kind: Kind) -> Iterator[str]:
    spec = definition(kind)["spec"]
    version = spec["versions"][0]
    root = version["schema"]["openAPIV3Schema"]
    yield f"\n## {kind.kind}\n\n{root['description']}\n\n{_names(kind, version)}\n"
    for part in ("spec", "status"):
        yield f"\n### {kind.kind} {part}\n\n"
        yield "| field | type | default | meaning |\n| --- | --- | --- | --- |\n"
        yield from _rows(root["properties"][part], part)
    yield from _rules(root["properties"]["spec"], "spec")


def _names(kind: Kind, version: Schema) -> str:
    short = ", ".join(f"`{name}`" for name in kind.short_names)
    more = ", ".join(f"`{name}`" for name in version["subresources"])
    return f"`kubectl get {kind.plural}`; short: {short}. Subresources: {more}."


def _rows(schema: Schema, path: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        below = f"{path}.{name}"
        yield _row(below, field, required=name in required)
        if "properties" in field:
            yield from _rows(field, below)
        elif "properties" in field.get("items", {}):
            yield from _rows(field["items"], f"{below}[]")


def _row(path: str, field: Schema, *, required: bool) -> str:
    meaning = " ".join(field.get("description", "").split()).replace("<", "&lt;")
    cells = (f"`{path}`", _type(field), _default(field, required=required), meaning)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _type(field: Schema) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    if "additionalProperties" in field:
        return f"map of {_type(field['additionalProperties'])}"
    if field.get("format") == "date-time":
        return "time"
    return str(field["type"])


def _default(field: Schema, *, required: bool) -> str:
    if required:
        return "required"
    if "properties" in field or "default" not in field:
        return ""
    value = field["default"]
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _rules(schema: Schema, path: str) -> Iterator[str]:
    said = sorted(set(_messages(schema)))
    if said:
        yield f"\n### What the API server refuses in {path}\n\n"
        yield from (f"- {sentence}\n" for sentence in said)


def _messages(schema: Schema) -> Iterator[str]:
    yield from (rule["message"] for rule in schema.get("x-kubernetes-validations", ()))
    for field in schema.get("properties", {}).values():
        yield from _messages(field)
        yield from _messages(field.get("items", {}))


PAGES: Final[dict[str, Callable[[], str]]] = {
    **{f"{CHART}/templates/{kind.plural}.yaml": partial(template, kind) for kind in KINDS},
    "docs/reference/api.md": reference,
}

if __name__ == "__main__":
    keep(PAGES, __doc__)
