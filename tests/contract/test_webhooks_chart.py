"""The chart registers the webhooks that the operator serves, and lets them look things up."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.local import binaries
from windlass.local.layout import Folders
from windlass.local.process import run
from windlass.local.progress import Display
from windlass.operator.registration import by_service, entries, eviction_entry

CHART = Path(__file__).parents[2] / "charts" / "windlass-operator"
NAME = "windlass-operator-webhook"


@pytest.fixture(scope="module")
def objects(folders: Folders, display: Display) -> list[Any]:
    helm = binaries.ensure(("helm",), folders.cache, display)["helm"]
    words = ("template", "windlass-operator", str(CHART), "-n", "windlass")
    return list(yaml.safe_load_all(run([str(helm), *words])))


def named(objects: list[Any], kind: str, name: str) -> Any:
    (found,) = [
        one for one in objects if one and (one["kind"], one["metadata"]["name"]) == (kind, name)
    ]
    return found


def test_it_registers_what_the_operator_serves(objects: list[Any]) -> None:
    found = named(objects, "ValidatingWebhookConfiguration", NAME)["webhooks"]
    registered = {entry["name"]: entry for entry in found}
    reached = by_service("windlass", NAME)
    for wanted in (*entries(reached), eviction_entry(reached)):
        entry = registered.pop(wanted["name"])
        assert {name: entry.get(name) for name in wanted} == wanted
    assert registered == {}


@pytest.mark.parametrize(
    "kind", [kinds.CONFIG_MAP, kinds.PERSISTENT_VOLUME_CLAIM, kinds.ACCOUNTING]
)
def test_it_may_read_what_a_review_looks_up(objects: list[Any], kind: Kind) -> None:
    rules = named(objects, "ClusterRole", NAME)["rules"]
    assert any(
        kind.group in rule["apiGroups"]
        and kind.plural in rule["resources"]
        and "get" in rule["verbs"]
        for rule in rules
    )
