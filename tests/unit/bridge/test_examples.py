"""The examples in the docstrings of this room and on its page hold."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from windlass import bridge
from windlass.bridge import identity
from windlass.bridge.annotations import NAMES
from windlass.bridge.devices import DEFAULT
from windlass.bridge.identity import Grant

MODULES = [module.name for module in pkgutil.iter_modules(bridge.__path__, "windlass.bridge.")]


@pytest.mark.parametrize("name", MODULES)
def test_every_example_holds(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "bridge.md").read_text()


def test_the_page_names_every_annotation_and_no_other() -> None:
    table = PAGE.partition("## Annotations of a job")[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert sorted(name for row in rows for name in re.findall(r"`([^`]+)`", row)) == sorted(NAMES)


def test_the_page_names_every_device_of_the_table() -> None:
    assert [name for name, _ in DEFAULT.targets if f"`{name}`" not in PAGE] == []


def test_the_table_of_identities_on_the_page_is_one() -> None:
    table = identity.parse(PAGE.partition("```yaml\n")[2].partition("```")[0])
    assert table.users["alice@example.org"].accounts == ("physics", "chemistry")
    assert table.default == Grant(user="guest")
