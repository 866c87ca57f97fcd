"""How clusters come and go, also when they are not asked politely."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass.local.layout import Folders
from windlass.local.waiting import wait_for
from windlass.testing.local import LocalCluster


@pytest.fixture
def second(
    cluster: LocalCluster, folders: Folders, programs: dict[str, Path], explaining_logs: list[Path]
) -> Iterator[LocalCluster]:
    """A cluster beside the first, not up yet."""
    local = LocalCluster("windlass-second", folders, programs["kubectl"])
    local.local("down")
    explaining_logs.append(local.folder.logs)
    yield local
    explaining_logs.remove(local.folder.logs)
    local.local("down")


def test_two_clusters_run_side_by_side(cluster: LocalCluster, second: LocalCluster) -> None:
    second.local("up", "--nodes", "1")
    assert second.folder.require().block != cluster.folder.require().block
    servers = {
        each.kubectl("config", "view", "-o", "jsonpath={.clusters[0].cluster.server}")
        for each in (cluster, second)
    }
    assert len(servers) == 2
    assert [n["metadata"]["name"] for n in second.kubectl.get("nodes")["items"]] == second.nodes


def test_down_leaves_nothing_behind(second: LocalCluster) -> None:
    second.local("up", "--nodes", "1")
    seen = second.remains()
    assert seen.processes
    assert seen.links
    assert seen.rules
    assert seen.cgroups
    namespaces = second.namespaces()
    assert len(namespaces) > 1
    routes_with = routes()
    second.local("down")
    assert not second.remains().any(), second.remains()
    own = {str(Path("/proc/self/ns/net").readlink())}
    assert not (namespaces - own) & all_network_namespaces()
    assert len(routes()) < len(routes_with)
    assert not [line for line in routes() if "windlass-second" in line]
    assert not any(second.name in line for line in command_lines())


def test_up_recovers_a_cluster_whose_processes_were_all_killed(second: LocalCluster) -> None:
    second.local("up", "--nodes", "1")
    second.kubectl("create", "configmap", "memory", "--from-literal=key=kept")
    second.cgroups.kill(second.folder.cgroup)
    assert second.remains().cgroups
    assert second.remains().links
    second.local("up")
    assert second.kubectl.get("configmap", "memory")["data"] == {"key": "kept"}


def test_down_clears_a_cluster_whose_processes_were_all_killed(second: LocalCluster) -> None:
    second.local("up", "--nodes", "1")
    second.cgroups.kill(second.folder.cgroup)
    second.local("down")
    assert not second.remains().any(), second.remains()


@pytest.mark.parametrize("moment", ["cluster.json", "run/kube-apiserver.json", "nodes"])
def test_an_up_that_is_killed_half_way_is_cleared_by_down(
    second: LocalCluster, moment: str
) -> None:
    killed_at(second, moment)
    second.local("down")
    assert not second.remains().any(), second.remains()


def test_an_up_that_is_killed_half_way_is_finished_by_the_next(second: LocalCluster) -> None:
    killed_at(second, "nodes")
    second.local("up")
    assert second.run("status").returncode == 0


def test_up_says_so_when_another_network_has_taken_its_addresses(second: LocalCluster) -> None:
    killed_at(second, "cluster.json")
    taken = str(second.folder.require().addresses.pods_of(9))
    route = ["ip", "route", "add", taken, "dev", "lo"]
    subprocess.run(route, check=True)
    try:
        done = second.run("up")
    finally:
        subprocess.run(["ip", "route", "delete", taken, "dev", "lo"], check=True)
    assert done.returncode == 1
    assert f"routes elsewhere ({taken})" in done.stderr


def test_down_clears_a_cluster_whose_record_is_lost(second: LocalCluster) -> None:
    second.local("up", "--nodes", "1")
    second.folder.record_file.write_text("{")
    second.local("down")
    assert not second.remains().any(), second.remains()


def killed_at(cluster: LocalCluster, moment: str) -> None:
    """Begin an `up` and kill it as soon as a file of its state appears."""
    with subprocess.Popen(
        cluster.command("up", "--nodes", "1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as up:
        try:
            wait_for((cluster.folder.path / moment).exists, moment, within=60, every=0.005)
        finally:
            os.kill(up.pid, signal.SIGKILL)


def routes() -> list[str]:
    return [
        json.dumps(route) for route in json.loads(subprocess.check_output(["ip", "-j", "route"]))
    ]


def all_network_namespaces() -> set[str]:
    rows = subprocess.check_output(["lsns", "--noheadings", "--type=net", "--output=NS"], text=True)
    return {f"net:[{row.strip()}]" for row in rows.split()}


def command_lines() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return [line for line in found if "pytest" not in line]
