"""Helm, as a person would call it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from windlass.local.process import run

CHARTS: Final = Path(__file__).parents[2] / "charts"

Body = dict[str, Any]
Values = Mapping[str, Any]
# A key, its value, the place in an object where it must show, and as what.
Effect = tuple[str, Any, str, Any]


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a chart became, by kind and name."""

    objects: tuple[Body, ...]

    def of(self, kind: str) -> dict[str, Body]:
        return {o["metadata"]["name"]: o for o in self.objects if o["kind"] == kind}

    def one(self, kind: str) -> Body:
        (found,) = self.of(kind).values()
        return found

    def names(self) -> set[tuple[str, str]]:
        return {(o["kind"], o["metadata"]["name"]) for o in self.objects}


@dataclass(frozen=True, slots=True)
class Helm:
    program: Path
    folder: Path
    """For files that Helm reads and keeps."""

    def __call__(self, *words: str | Path) -> str:
        home = (f"{name}={self.folder / name}" for name in ("HELM_CACHE_HOME", "HELM_CONFIG_HOME"))
        return run(["env", *home, str(self.program), *map(str, words)])

    def text(self, chart: str, values: Values | None = None, *words: str) -> str:
        return self(
            *("template", chart, CHARTS / chart, "--namespace=here"),
            *self.values(values),
            *words,
        )

    def template(self, chart: str, values: Values | None = None, *words: str) -> Rendered:
        return parsed(self.text(chart, values, *words))

    def lint(self, chart: str, values: Values | None = None) -> str:
        return self("lint", "--strict", *self.values(values), CHARTS / chart)

    def values(self, values: Values | None) -> tuple[str, ...]:
        """A file with these values, for any command."""
        if values is None:
            return ()
        file = self.folder / "values.json"
        file.write_text(json.dumps(values))
        return (f"--values={file}",)


def parsed(text: str) -> Rendered:
    return Rendered(tuple(found for found in yaml.safe_load_all(text) if found))


def at(body: Any, path: str) -> Any:
    """What stands at a path such as `spec/template/spec/containers/0/image`; None if nothing."""
    for word in path.split("/"):
        if isinstance(body, list):
            body = body[int(word)] if int(word) < len(body) else None
        else:
            body = (body or {}).get(word)
    return body


def nested(path: str, value: Any) -> Body:
    """Values that hold one key: `a.b` and 1 are {a: {b: 1}}."""
    for word in reversed(path.split(".")):
        value = {word: value}
    return dict(value)


def effects(table: Sequence[Effect]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("effect", table, ids=[f"{key}->{at}" for key, _, at, _ in table])
