"""Every example in the docstrings of this room and on its page holds."""

import doctest
import importlib
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[4] / "docs" / "explanation" / "slurm-configuration.md"
MODULES = ("faults", "gres_conf", "lines", "merging", "topology")


@pytest.mark.parametrize("name", MODULES)
def test_each_module_shows_an_example_and_it_holds(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"windlass.slurm.conf.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_page_tells_the_truth() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0
