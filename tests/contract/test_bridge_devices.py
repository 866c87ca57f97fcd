"""Devices of nodes as slurmctld is told them, and what it gives of them."""

from collections.abc import Callable, Iterator

import pytest

from tests.contract.slurm_world import NEWEST, World, real_world
from tests.unit.bridge.builders import pod
from tests.unit.bridge.test_dra import container
from tests.unit.bridge.test_external_nodes import AMOUNTS, host
from tests.unit.bridge.test_slices import GPU, cpu, published
from windlass.bridge.devices import DEFAULT, DeviceMap
from windlass.bridge.dra import DeviceClaim, claim
from windlass.bridge.external import external, line
from windlass.bridge.gang import Member
from windlass.bridge.resources import assess
from windlass.bridge.sharing import share
from windlass.bridge.slices import inventory
from windlass.kube.objects import Pod
from windlass.local.waiting import wait_for
from windlass.slurm import requests
from windlass.slurm.specs import JobSpec
from windlass.testing.slurm import RealSlurm

MIG = DeviceMap.parse({"nvidia.com/mig-*": "gres/mig:*"})
THERE = inventory(
    [
        published(GPU, "gpu-0", "gpu-1", "gpu-2", "gpu-3"),
        published("dra.cpu", *(cpu(number, number % 4) for number in range(8))),
    ]
)


@pytest.fixture(scope="module")
def server(slurm_with: Callable[[str], RealSlurm]) -> RealSlurm:
    return slurm_with("GresTypes=gpu,mig\n")


@pytest.fixture
def world(server: RealSlurm) -> Iterator[World]:
    with real_world(server, NEWEST) as made:
        yield made


def test_devices_of_several_kinds_can_be_told_under_another_name_than_gpu(world: World) -> None:
    kinds = {"nvidia.com/mig-1g.5gb": "4", "nvidia.com/mig-2g.10gb": "2"}
    told = external(host("mig-1", amounts={**AMOUNTS, **kinds}), MIG)
    assert told is not None
    world.send(requests.create_nodes(line((told,))))
    assert told.same_hardware(world.send(requests.node("mig-1")))
    number = _submit(world, "gres/mig:2g.10gb:2", 1)
    assert world.send(requests.job(number)).nodes == "mig-1"


def _submit(world: World, gres: str, cpus: int) -> int:
    spec = JobSpec(
        name="pod",
        external=True,
        partition="all",
        tasks=1,
        cpus_per_task=cpus,
        tres_per_node=gres,
        memory_per_node=100,
        time_limit=10,
        directory="/tmp",
    )
    number = world.send(requests.submit(spec)).job_id
    wait_for(lambda: world.send(requests.job(number)).state.running, "it runs", within=30)
    return number


def test_two_pods_get_the_devices_and_cpus_of_their_jobs(world: World) -> None:
    told = external(host("dra-1", amounts={**AMOUNTS, "cpu": "8"}), DEFAULT, {}, THERE)
    assert told is not None
    assert (told.cpus, told.threads) == (8, 2)
    world.send(requests.create_nodes(line((told,))))
    assert told.same_hardware(world.send(requests.node("dra-1")))
    given: list[str] = []
    for name in ("a", "b"):
        asks = pod(name, spec={"containers": [container(gpu="2", cpu="4")]})
        given += _given(world, asks, _submit(world, f"gres/gpu:{GPU}:2", 4))
    assert sorted(given) == sorted(
        [f"gpu-{number}" for number in range(4)] + [f"cpudev{number:03}" for number in range(8)]
    )


def _given(world: World, asks: Pod, job: int) -> list[str]:
    (held,) = world.send(requests.resources(job))
    member = Member(0, assess(asks.spec, DEFAULT).needs)
    own = share(held, [member], threads=2)[0]
    found = claim(asks, own, THERE, DEFAULT)
    assert isinstance(found, DeviceClaim)
    return [each["device"] for each in found.results]
