"""One local cluster of two nodes, brought up once and used by every story."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from windlass.local import binaries
from windlass.local.kubectl import Kubectl
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.testing import kwok
from windlass.testing.kwok import Kwok
from windlass.testing.local import LocalCluster

NAME = "windlass-e2e"


@pytest.fixture(scope="session")
def programs(folders: Folders, display: Display) -> dict[str, Path]:
    return binaries.ensure(sorted(binaries.MODULES), folders.cache, display)


@pytest.fixture(scope="session")
def cluster(
    folders: Folders, programs: dict[str, Path], explaining_logs: list[Path]
) -> Iterator[LocalCluster]:
    """The cluster; what an earlier, killed run left under its name is cleared first."""
    local = LocalCluster(NAME, folders, programs["kubectl"])
    local.local("down")
    explaining_logs.append(local.folder.logs)
    local.local("up", "--nodes", "2")
    yield local
    local.local("down")


@pytest.fixture
def namespace(cluster: LocalCluster) -> Iterator[str]:
    """A namespace of the test's own, gone afterwards."""
    name = f"test-{uuid4().hex[:8]}"
    cluster.kubectl("create", "namespace", name)
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def kubectl(cluster: LocalCluster) -> Kubectl:
    return cluster.kubectl


@pytest.fixture(scope="module")
def fake_nodes(
    cluster: LocalCluster,
    programs: dict[str, Path],
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Kwok]:
    """kwok beside the real nodes; `add_nodes(n)` makes as many as a test needs."""
    folder = tmp_path_factory.mktemp("kwok")
    explaining_logs.append(folder)
    running = kwok.start(folder, programs, cluster.kubectl)
    yield running
    running.remove_nodes()
    running.stop()
    explaining_logs.remove(folder)
