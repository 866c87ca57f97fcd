"""What holds for every program of inpod."""

import ast
from pathlib import Path

import pytest

from tests.unit.inpod.programs import FOLDER


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.name)
def test_an_old_python_reads_it(file: Path) -> None:
    ast.parse(file.read_text(), feature_version=(3, 9))
