"""What a real slurmd says of itself when it joins, what of that it can say anew when it comes back,
and what only slurmctld can be told."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.slurm_world import NEWEST, World, real_world
from windlass.local import images
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.slurm import requests
from windlass.slurm.errors import Absent, Refused
from windlass.slurm.model import Node
from windlass.slurm.specs import NodeUpdate
from windlass.testing.ports import free_ports
from windlass.testing.slurm import Besides, RealSlurm

TOPOLOGY = """\
- topology: default
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: left
      - switch: left
        nodes: none
- topology: racks
  cluster_default: false
  block:
    block_sizes: [2]
    blocks:
      - block: b1
      - block: b2
"""
BESIDES = Besides(
    conf="SlurmctldParameters=enable_configless\nGresTypes=gpu\n",
    files={"cgroup.conf": "CgroupPlugin=disabled\n", "topology.yaml": TOPOLOGY},
)
START = """
chown root: /run/slurm && mkdir -p /var/spool/slurmd
(slurmd -D -N "$@" >"/var/log/slurmd-$1.log" 2>&1 & echo $! >"/run/$1.pid")
"""


@pytest.fixture(scope="module")
def server(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RealSlurm]:
    root = images.root_of("slurm", folders.cache, display, programs={})
    slurm = RealSlurm(root, tmp_path_factory.mktemp("joined") / "slurm", BESIDES)
    explaining_logs.append(slurm.logs)
    slurm.start()
    yield slurm
    slurm.stop()


@pytest.fixture
def world(server: RealSlurm) -> Iterator[World]:
    with real_world(server, NEWEST) as made:
        yield made


def join(server: RealSlurm, world: World, name: str, line: str, *words: str) -> Node:
    """Start a slurmd, and return what Slurm says of it once it has registered."""
    (port,) = free_ports(1)
    where = ("-Z", "--conf-server", f"127.0.0.1:{server.slurmctld_port}")
    began = int(time.time())
    server.inside("sh", "-c", START, "sh", name, *where, "--conf", f"{line} Port={port}", *words)

    def registered() -> bool:
        found = node(world, name)
        return found is not None and (found.slurmd_started_at or 0) >= began

    wait_for(registered, f"{name} registers", within=30)
    found = node(world, name)
    assert found is not None
    return found


def leave(server: RealSlurm, name: str) -> None:
    gone = f'kill "$(cat /run/{name}.pid)"; while kill -0 "$(cat /run/{name}.pid)"; do :; done'
    server.inside("sh", "-c", gone)
    # slurmd's start is told in whole seconds: the next one is to differ.
    until = int(time.time()) + 1
    wait_for(lambda: time.time() >= until, "the next second", within=2)


def node(world: World, name: str) -> Node | None:
    try:
        return world.send(requests.node(name))
    except Absent:
        return None


def placed(world: World, name: str, topology: str) -> str:
    world.send(requests.update_node(name, NodeUpdate(topology=topology)))
    return world.send(requests.node(name)).topology


def test_what_slurmd_says_of_itself_holds_for_the_record_and_not_for_the_next_start(
    server: RealSlurm, world: World
) -> None:
    first = join(server, world, "a-0", "Topology=default:left", "--extra", '{"a": "one, two"}')
    leave(server, "a-0")
    second = join(server, world, "a-0", "Topology=racks:b1", "--extra", "other")

    assert (first.extra, first.topology) == ('{"a": "one, two"}', "default:left")
    assert (second.extra, second.topology) == (first.extra, first.topology)
    assert (second.slurmd_started_at or 0) > (first.slurmd_started_at or 0)


def test_a_record_without_an_extra_does_not_take_one_from_the_next_start(
    server: RealSlurm, world: World
) -> None:
    join(server, world, "b-0", "Feature=b")
    leave(server, "b-0")

    assert join(server, world, "b-0", "Feature=b", "--extra", "late").extra == ""
    world.send(requests.update_node("b-0", NodeUpdate(extra="told")))
    assert world.send(requests.node("b-0")).extra == "told"


def test_a_worker_that_left_is_forgotten_and_joins_as_a_new_one(
    server: RealSlurm, world: World
) -> None:
    join(server, world, "d-0", "Topology=default:left", "--extra", "old")
    gone = NodeUpdate(state="DOWN", reason="slurm-operator: Pod is terminating")
    world.send(requests.update_node("d-0", gone))
    leave(server, "d-0")
    world.send(requests.delete_node("d-0"))
    assert node(world, "d-0") is None

    again = join(server, world, "d-0", "Topology=racks:b1", "--extra", "new")
    assert (again.extra, again.topology, again.reason) == ("new", "racks:b1", "")


def test_a_topology_that_slurm_does_not_have_drains_a_worker_as_it_joins(
    server: RealSlurm, world: World
) -> None:
    found = join(server, world, "c-0", "Topology=absent:left")

    assert found.state.drain
    assert found.reason == "Failed to set topology 'absent:left'"


def test_the_place_of_a_node_is_changed_while_it_runs(world: World) -> None:
    (name,) = world.nodes(1)

    assert placed(world, name, "default:left") == "default:left"
    assert placed(world, name, "racks:b1") == "racks:b1"
    assert placed(world, name, "default:left,racks:b2") == "default:left,racks:b2"
    assert placed(world, name, "") == ""


def test_switches_below_a_known_one_are_made_as_they_are_named(
    server: RealSlurm, world: World
) -> None:
    (name,) = world.nodes(1)

    assert placed(world, name, "default:root:zone:rack") == "default:root:zone:rack"
    assert f"SwitchName=rack Level=0 LinkSpeed=0 Nodes={name}" in server.scontrol(
        "show", "topology"
    )


def test_places_outlive_a_new_configuration(server: RealSlurm, world: World) -> None:
    (name,) = world.nodes(1)
    placed(world, name, "default:root:zone:late")
    world.send(requests.reconfigure())

    leaf = f"SwitchName=late Level=0 LinkSpeed=0 Nodes={name}"
    world.wait(lambda: leaf in server.scontrol("show", "topology"))
    assert world.send(requests.node(name)).topology == "default:root:zone:late"


@pytest.mark.parametrize(
    "unknown", ["absent:left", "left", "default:zone9:rack9", "racks:b9", "racks:b1:b2"]
)
def test_a_place_that_slurm_cannot_find_is_refused_for_all_nodes_of_a_call(
    world: World, unknown: str
) -> None:
    names = world.nodes(2)
    with pytest.raises(Refused) as caught:
        world.send(requests.update_nodes(names, NodeUpdate(topology=unknown)))

    assert caught.value.name == "ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE"
    assert [world.send(requests.node(name)).topology for name in names] == ["", ""]


def test_gpus_whose_devices_slurmd_does_not_find_keep_a_node_from_work(
    server: RealSlurm, world: World
) -> None:
    found = join(server, world, "without-devices", "Features=w Gres=gpu:2")

    assert found.state.has("INVALID_REG")
    assert "gres/gpu count reported lower than configured (0 < 2)" in found.reason
    leave(server, "without-devices")
