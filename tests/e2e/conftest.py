"""One local cluster of two nodes, brought up once for every story, and the operator on it."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from windlass.local import binaries
from windlass.local.helm import Helm
from windlass.local.kubectl import Kubectl
from windlass.local.layout import Folders, sources
from windlass.local.progress import Display
from windlass.local.slurm import IMAGES, OPERATOR_NAMESPACE, Slurm
from windlass.testing import kwok
from windlass.testing.kwok import Kwok
from windlass.testing.local import LocalCluster

NAME = "windlass-e2e"
UNHEALTHY = "GpuBroken"
"""The node condition that drains workers."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The bridge and its Slurm stay until the end, and take room that other stories need."""
    items.sort(key=lambda item: "bridge" in item.path.parts)


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


@pytest.fixture(scope="session")
def helm(cluster: LocalCluster, programs: dict[str, Path]) -> Helm:
    return Helm(programs["helm"], cluster.folder.kubeconfig)


@pytest.fixture(scope="session")
def operator(cluster: LocalCluster, helm: Helm) -> Iterator[Slurm]:
    """CRDs and operator from their charts, in a namespace that enforces `restricted`."""
    for image in IMAGES:
        cluster.local("image", "load", image)
    installed = Slurm(cluster.kubectl, helm, sources("charts"))
    cluster.kubectl("create", "namespace", OPERATOR_NAMESPACE)
    cluster.kubectl(
        "label", "namespace", OPERATOR_NAMESPACE, "pod-security.kubernetes.io/enforce=restricted"
    )
    installed.install_operator(
        {"drainNodeConditions": [UNHEALTHY], "webhook": {"podsBinding": True}}
    )
    for deployment in ("windlass-operator", "windlass-operator-webhook"):
        cluster.kubectl(
            *("rollout", "status", f"deployment/{deployment}"),
            *("-n", OPERATOR_NAMESPACE, "--timeout=120s"),
        )
    yield installed
    helm.uninstall("windlass-operator", OPERATOR_NAMESPACE)


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
