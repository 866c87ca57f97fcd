from pathlib import Path

import pytest

from windlass.local.cgroups import Cgroups, find_cgroups
from windlass.local.errors import LocalError

HYBRID = """tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0
cgroup /sys/fs/cgroup/pids cgroup rw,pids 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
"""
UNIFIED = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"


def test_v1_with_an_idle_v2_beside_it_tracks_by_the_pids_hierarchy() -> None:
    found = find_cgroups(HYBRID)
    assert not found.unified
    assert found.tracking() == Path("/sys/fs/cgroup/pids")
    assert len(found.hierarchies()) == 3


def test_v2_alone_tracks_by_itself() -> None:
    found = find_cgroups(UNIFIED)
    assert found.unified
    assert found.tracking() == Path("/sys/fs/cgroup")


def test_a_machine_without_cgroups_gets_a_clear_error() -> None:
    with pytest.raises(LocalError, match="mount cgroup2"):
        find_cgroups("proc /proc proc rw 0 0\n")


@pytest.fixture
def unified(tmp_path: Path) -> Cgroups:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("")
    return Cgroups((), tmp_path, unified=True)


def test_processes_are_found_at_every_depth(unified: Cgroups) -> None:
    assert unified.v2
    for path, pids in (("w/a/system", "12\n7\n"), ("w/a/kubepods/pod1", "31\n")):
        folder = unified.v2 / path
        folder.mkdir(parents=True)
        (folder / "cgroup.procs").write_text(pids)
    assert unified.processes("w") == [7, 12, 31]
    assert unified.processes("w/a/kubepods") == [31]
    assert unified.processes("absent") == []


def test_an_empty_v1_cpuset_takes_its_parents_cpus(tmp_path: Path) -> None:
    for name, content in (("cpuset.cpus", "0-1\n"), ("cpuset.mems", "0\n")):
        (tmp_path / name).write_text(content)
        (tmp_path / "windlass").mkdir(exist_ok=True)
        (tmp_path / "windlass" / name).write_text("\n")
    Cgroups((tmp_path,), None, unified=False).make("windlass")
    assert (tmp_path / "windlass" / "cpuset.cpus").read_text() == "0-1\n"
    assert (tmp_path / "windlass" / "cpuset.mems").read_text() == "0\n"


def test_v2_hands_its_controllers_down(unified: Cgroups) -> None:
    assert unified.v2
    child = unified.v2 / "windlass"
    child.mkdir()
    (child / "cgroup.controllers").write_text("cpu\n")
    (child / "cgroup.subtree_control").write_text("")
    unified.make("windlass/demo")
    assert (unified.v2 / "cgroup.subtree_control").read_text() == "+pids"
    assert (child / "cgroup.subtree_control").read_text() == "+cpu"
    assert (child / "demo").is_dir()
