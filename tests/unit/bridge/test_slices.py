"""The devices that drivers publish, in Slurm's order."""

from typing import Any

import msgspec
import pytest

from tests.unit.bridge.test_external_nodes import host
from windlass.bridge.devices import DEFAULT
from windlass.bridge.external import external
from windlass.bridge.slices import Inventory, ResourceSlice, inventory

GPU = "gpu.example.com"


def published(driver: str, *devices: Any, **pool: Any) -> ResourceSlice:
    """Devices as names, or as names with attributes."""
    every = [each if isinstance(each, dict) else {"name": each} for each in devices]
    spec = {
        "driver": driver,
        "nodeName": "n1",
        "pool": {"name": "n1-pool", "generation": 1, "resourceSliceCount": 1, **pool},
        "devices": every,
    }
    return msgspec.convert({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice)


def numbered(name: str, **numbers: int) -> dict[str, Any]:
    return {"name": name, "attributes": {key: {"int": number} for key, number in numbers.items()}}


def cpu(number: int, core: int, socket: int = 0, kind: int = 1) -> dict[str, Any]:
    numbers = {"cpuID": number, "coreID": core, "socketID": socket, "coreType": kind}
    return numbered(f"cpudev{number:03}", **{f"dra.cpu/{name}": n for name, n in numbers.items()})


def names(found: Inventory, driver: str) -> list[str]:
    return [each.name for each in found.devices.get(driver, ())]


@pytest.mark.parametrize(
    ("slices", "driver", "order"),
    [
        ([published(GPU, numbered("b", index=0), numbered("a", index=1))], GPU, ["b", "a"]),
        ([published(GPU, "gpu-10", "gpu-9")], GPU, ["gpu-9", "gpu-10"]),
        (
            [published("gpu.nvidia.com", "gpu-1", "gpu-0", "gpu-0-mig-1g5gb-0-1")],
            "gpu.nvidia.com",
            ["gpu-0", "gpu-1"],
        ),
        (
            [
                published(GPU, "g-1", resourceSliceCount=2),
                published(GPU, "g-0", resourceSliceCount=2),
            ],
            GPU,
            ["g-0", "g-1"],
        ),
        ([published(GPU, "g-1", resourceSliceCount=2)], GPU, []),
        ([published(GPU, "old"), published(GPU, "new", generation=2)], GPU, ["new"]),
        ([published(GPU, "a"), published("other", "b")], "other", ["b"]),
    ],
)
def test_devices_have_their_places(
    slices: list[ResourceSlice], driver: str, order: list[str]
) -> None:
    assert names(inventory(slices), driver) == order


@pytest.mark.parametrize(
    ("cpus", "order", "threads"),
    [
        ([cpu(0, 0), cpu(1, 1)], ["cpudev000", "cpudev001"], 1),
        (
            [cpu(0, 0), cpu(1, 1), cpu(2, 0), cpu(3, 1)],
            ["cpudev000", "cpudev002", "cpudev001", "cpudev003"],
            2,
        ),
        ([cpu(0, 0, socket=1), cpu(1, 0, socket=0)], ["cpudev001", "cpudev000"], 1),
        ([cpu(0, 0), cpu(1, 1, kind=3)], ["cpudev000"], 1),
        ([], [], 0),
    ],
)
def test_cpus_follow_sockets_and_cores(
    cpus: list[dict[str, Any]], order: list[str], threads: int
) -> None:
    found = inventory([published("dra.cpu", *cpus)])
    assert ([each.name for each in found.cpus], found.threads) == (order, threads)


def test_a_node_is_told_with_the_devices_of_its_drivers() -> None:
    cpus = [cpu(number, number % 3) for number in range(6)]
    there = inventory([published(GPU, "gpu-0", "gpu-1"), published("dra.cpu", *cpus)])
    found = external(host(), DEFAULT, {}, there)
    assert found is not None
    assert [str(one) for one in found.gres] == ["gpu:gpu.example.com:2"]
    assert (found.cpus, found.threads) == (6, 2)
