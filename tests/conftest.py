"""What every floor of tests shares: the user's folders, and logs beside a failure."""

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings
from rich.console import Console

from windlass.local.layout import Folders
from windlass.local.masters import tail
from windlass.local.progress import Display
from windlass.mains import windlass

# How long one example takes says more of the machine than of the code.
settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")

LOGS: pytest.StashKey[list[Path]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of reading them"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LOGS] = []


@pytest.fixture(scope="session")
def folders() -> Folders:
    return windlass.folders()


@pytest.fixture(scope="session")
def display() -> Display:
    return Display(Console(stderr=True))


@pytest.fixture(scope="session")
def explaining_logs(pytestconfig: pytest.Config) -> list[Path]:
    """Files, or folders of logs, that are shown when a test fails; fixtures add theirs."""
    return pytestconfig.stash[LOGS]


def shortened(log: Path) -> str:
    """The last lines of a log, none so long that it hides the others."""
    return "\n".join(line[:240] for line in tail(log, 12).splitlines())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        for place in item.config.stash[LOGS]:
            for log in sorted(place.rglob("*.log")) if place.is_dir() else [place]:
                report.sections.append((f"the end of {log}", shortened(log)))
    return report
