"""Every example in the docstrings of this room and on its page holds."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

from windlass import values

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "values.md"
MODULES = [module.name for module in pkgutil.iter_modules(values.__path__, "windlass.values.")]


@pytest.mark.parametrize("name", MODULES)
def test_each_module_shows_an_example_and_it_holds(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_the_page_tells_the_truth() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0
