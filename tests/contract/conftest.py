"""Real servers, each started once for a whole run of the tests."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.contract import slurm_kinds as kinds_of_slurm
from tests.contract.helm import Helm
from tests.contract.kube_world import FakeWorld, KubeWorld, RealWorld
from tests.unit.operator import conftest as golden_files
from windlass.local import binaries, debian, images
from windlass.local.kubectl import Kubectl
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.mains import windlass
from windlass.testing import kube as real_kube
from windlass.testing import mariadb
from windlass.testing.kube import RealKube
from windlass.testing.slurm import Besides, RealSlurm
from windlass.testing.slurm_accounting import AccountedSlurm


@pytest.fixture(scope="session")
def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("real servers run in namespaces and on mounts of their own: needs root")


# --- Slurm ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def slurm(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RealSlurm]:
    """A slurmctld and a slurmrestd; every test shares them, so each uses nodes of its own."""
    root = images.root_of("slurm", folders.cache, display, programs={})
    server = RealSlurm(root, tmp_path_factory.mktemp("slurm"))
    explaining_logs.append(server.logs)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def slurm_with(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], RealSlurm]]:
    """Starts a Slurm of the test file's own, with these lines more in slurm.conf."""
    root = images.root_of("slurm", folders.cache, display, programs={})
    with ExitStack() as started:

        def start(conf: str) -> RealSlurm:
            server = RealSlurm(root, tmp_path_factory.mktemp("own"), Besides(conf=conf))
            explaining_logs.append(server.logs)
            server.start()
            started.callback(server.stop)
            return server

        yield start


@pytest.fixture(scope="module")
def own_slurm(slurm_with: Callable[[str], RealSlurm]) -> RealSlurm:
    """For tests that kill its slurmctld."""
    return slurm_with("")


# --- Slurm with accounting -----------------------------------------------------------------


@pytest.fixture(scope="session")
def accounted_slurm(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[AccountedSlurm]:
    """A Slurm with slurmdbd and MariaDB; every test shares it, so each uses names of its own."""
    server = AccountedSlurm(
        images.root_of("slurm", folders.cache, display, programs={}),
        debian.ensure(mariadb.ROOT, folders.cache, display),
        tmp_path_factory.mktemp("accounted"),
    )
    explaining_logs.append(server.folder)
    server.start()
    yield server
    server.stop()


# --- Kubernetes ----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def kube(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RealKube]:
    """An etcd and a kube-apiserver; every test shares them, so each uses a namespace of its own."""
    folder = tmp_path_factory.mktemp("kube")
    explaining_logs.append(folder / "logs")
    server = real_kube.start(folder, folders.cache, display, windlass.now())
    yield server
    server.stop()


@pytest.fixture(scope="session")
def slurm_kinds(kube: RealKube) -> Kubectl:
    """kubectl of a server that knows our kinds."""
    return kinds_of_slurm.install(kube)


@pytest.fixture(params=["fake", "real"])
def world(request: pytest.FixtureRequest) -> KubeWorld:
    """An API server in memory, and a real one: what holds for one must hold for the other."""
    if request.param == "fake":
        return FakeWorld()
    return RealWorld(request.getfixturevalue("kube"))


golden = golden_files.golden

# --- Helm ----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def helm(folders: Folders, display: Display, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    program = binaries.ensure(["helm"], folders.cache, display)["helm"]
    return Helm(program, tmp_path_factory.mktemp("helm"))
