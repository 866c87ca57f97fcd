"""What Helm makes of the chart of our kinds."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from windlass.api.definitions import KINDS
from windlass.kube.crd import definition
from windlass.local import binaries
from windlass.local.errors import CommandFailed
from windlass.local.kubectl import Kubectl
from windlass.local.layout import Folders
from windlass.local.process import run
from windlass.local.progress import Display

CHART = Path(__file__).parents[2] / "charts" / "windlass-crds"
KEEP = {"helm.sh/resource-policy": "keep"}


@pytest.fixture(scope="module")
def helm(folders: Folders, display: Display) -> Path:
    return binaries.ensure(("helm",), folders.cache, display)["helm"]


def rendered(helm: Path, *words: str) -> dict[str, Any]:
    text = run([str(helm), "template", str(CHART), *words])
    return {one["metadata"]["name"]: one for one in yaml.safe_load_all(text)}


def test_it_holds_the_kinds_and_an_uninstall_keeps_them(helm: Path) -> None:
    found = rendered(helm)
    assert all(one["metadata"].pop("annotations") == KEEP for one in found.values())
    assert found == {kind.name: definition(kind) for kind in KINDS}


def test_who_wants_them_gone_says_so(helm: Path) -> None:
    assert rendered(helm, "--set=keep=false") == {kind.name: definition(kind) for kind in KINDS}


@pytest.mark.parametrize("value", ["keeep=true", "keep=perhaps"])
def test_a_misspelt_value_is_refused(helm: Path, value: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        rendered(helm, f"--set={value}")
    assert "values don't meet the specifications of the schema" in caught.value.output


def test_the_server_takes_what_helm_made(helm: Path, slurm_kinds: Kubectl) -> None:
    for body in rendered(helm).values():
        slurm_kinds(
            *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
            text=json.dumps(body),
        )
