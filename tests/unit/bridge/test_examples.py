"""The examples in the docstrings of this room hold."""

import doctest
import importlib
import pkgutil

import pytest

from windlass import bridge

MODULES = [module.name for module in pkgutil.iter_modules(bridge.__path__, "windlass.bridge.")]


@pytest.mark.parametrize("name", MODULES)
def test_every_example_holds(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
