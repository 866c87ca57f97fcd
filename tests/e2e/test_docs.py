"""Every `console` block of the documentation, run as its reader would run it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass.local.layout import Folders
from windlass.local.record import clusters
from windlass.testing.local import LocalCluster

TOP = Path(__file__).parents[2]
PAGES = sorted([TOP / "README.md", *TOP.joinpath("docs").rglob("*.md")])


def commands(page: Path) -> list[str]:
    """The lines after `$ ` in the page's console blocks."""
    found, inside = [], False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside = line == "```console"
        elif inside:
            assert line.startswith("$ "), f"{page}: a console block holds commands only: {line}"
            found.append(line.removeprefix("$ "))
    return found


@pytest.fixture
def clean(folders: Folders, programs: dict[str, Path]) -> Iterator[None]:
    """No cluster that a page makes is there before or after it."""

    def clear() -> None:
        for name in ("windlass-docs", "blue", "green"):
            LocalCluster(name, folders, programs["kubectl"]).local("down")

    clear()
    yield
    clear()


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page", [pytest.param(p, id=str(p.relative_to(TOP))) for p in PAGES if commands(p)]
)
def test_the_commands_of_a_page_work(page: Path, clean: None, folders: Folders) -> None:
    before = {cluster.name for cluster in clusters(folders.state)}
    script = "\n".join(["set -euxo pipefail", *commands(page)])
    script = script.replace("windlass-2", "windlass-docs-2")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=TOP,
        env={**os.environ, "PATH": path, "WINDLASS_LOCAL_NAME": "windlass-docs"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert {cluster.name for cluster in clusters(folders.state)} == before
