"""Golden files: what is rendered, whole, beside the tests that render it."""

from collections.abc import Callable

import pytest

Golden = Callable[[str, str], None]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Hold a text against `golden/<name>`; `--update-golden` writes it instead."""
    folder = request.path.parent / "golden"
    update = bool(request.config.getoption("--update-golden"))

    def hold(name: str, text: str) -> None:
        file = folder / name
        if update:
            folder.mkdir(exist_ok=True)
            file.write_text(text)
        assert file.exists(), f"there is no {file.name}; run pytest with --update-golden"
        assert text == file.read_text()

    return hold
