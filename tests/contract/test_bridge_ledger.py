"""Pods and jobs of slurmd on one node: Slurm itself counts both."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.slurm_world import NEWEST, World, real_world
from tests.contract.test_worker_registration import BESIDES, join
from windlass.local import images
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.slurm import requests
from windlass.slurm.errors import Refused
from windlass.slurm.model import Job
from windlass.slurm.specs import JobSpec
from windlass.testing.slurm import RealSlurm

HARDWARE = "CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1000"


@pytest.fixture(scope="module")
def server(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RealSlurm]:
    root = images.root_of("slurm", folders.cache, display, programs={})
    slurm = RealSlurm(root, tmp_path_factory.mktemp("shared") / "slurm", BESIDES)
    explaining_logs.append(slurm.logs)
    slurm.start()
    yield slurm
    slurm.stop()


@pytest.fixture
def world(server: RealSlurm) -> Iterator[World]:
    with real_world(server, NEWEST) as made:
        yield made


def _job(world: World, number: int) -> Job:
    return world.send(requests.job(number))


def _submit(world: World, cpus: int, *, external: bool) -> int:
    spec = JobSpec(
        name="pod" if external else "batch",
        external=external or None,
        script=None if external else "#!/bin/sh\nsleep 600\n",
        environment=None if external else ("PATH=/usr/bin:/bin",),
        partition="all",
        cpus_per_task=cpus,
        tasks=1,
        memory_per_node=100,
        time_limit=10,
        directory="/tmp",
    )
    return world.send(requests.submit(spec)).job_id


def _allocated(world: World) -> int:
    return world.send(requests.node("w-0")).cpus_allocated


def test_an_external_job_takes_its_part_of_a_node_of_slurmd(
    server: RealSlurm, world: World
) -> None:
    join(server, world, "w-0", HARDWARE)
    pod = _submit(world, 3, external=True)
    wait_for(lambda: _job(world, pod).state.running, "the pod's job runs", within=30)
    assert _job(world, pod).nodes == "w-0"
    batch = _submit(world, 2, external=False)
    wait_for(lambda: _job(world, batch).reason == "Resources", "it waits", within=30)
    # slurmctld counts them a moment later.
    wait_for(lambda: _allocated(world) == 3, "the node shows the pod's CPUs", within=60)
    world.send(requests.cancel(pod))
    wait_for(lambda: not _job(world, batch).state.pending, "it starts", within=30)


def test_a_node_that_slurmd_has_cannot_be_made_external_too(
    server: RealSlurm, world: World
) -> None:
    join(server, world, "w-1", HARDWARE)
    with pytest.raises(Refused):
        world.send(requests.create_nodes(f"NodeName=w-1 {HARDWARE} State=EXTERNAL"))
