"""What is kept on disk between two commands: marks, settings, logs."""

import os
from pathlib import Path

import pytest

from windlass.local import daemons, sysctls
from windlass.local.daemons import Daemon
from windlass.local.errors import LocalError
from windlass.local.log_files import find_log, log_names
from windlass.local.status import NodeSeen, Seen, table
from windlass.local.waiting import wait_for


@pytest.fixture
def daemon(tmp_path: Path) -> Daemon:
    return Daemon(
        name="sleeper",
        argv=("sh", "-c", "echo started; exec sleep 60"),
        mark=tmp_path / "run" / "sleeper.json",
        log=tmp_path / "logs" / "sleeper.log",
        cgroup_entry=tmp_path / "cgroup.procs",
    )


def test_a_started_program_is_known_again_and_can_be_stopped(daemon: Daemon) -> None:
    assert daemon.running() is None
    daemon.start().close()
    process = daemon.running()
    assert process is not None
    wait_for(lambda: daemon.log.read_text() == "started\n", "it starts", within=5)
    assert int(daemon.cgroup_entry.read_text()) == process.pid
    daemons.stop(daemon.mark)
    assert not process.alive()
    os.waitpid(process.pid, 0)


def test_a_program_with_other_arguments_is_not_the_same(daemon: Daemon) -> None:
    changed = Daemon("x", ("sleep", "61"), daemon.mark, daemon.log, daemon.cgroup_entry)
    daemon.start().close()
    process = daemon.running()
    assert process is not None
    assert changed.running() is None
    daemons.stop(daemon.mark)
    os.waitpid(process.pid, 0)


def test_a_broken_mark_counts_as_none(daemon: Daemon) -> None:
    daemon.mark.parent.mkdir(parents=True)
    daemon.mark.write_text("{")
    assert daemon.running() is None
    assert daemons.alive(daemon.mark) is None
    daemons.stop(daemon.mark)


def test_kernel_settings_are_put_back(tmp_path: Path) -> None:
    proc, file = tmp_path / "sys", tmp_path / "kept.json"
    (proc / "net/ipv4").mkdir(parents=True)
    setting = proc / "net/ipv4/ip_forward"
    setting.write_text("0\n")
    sysctls.remember(file, proc)
    sysctls.forward(proc)
    sysctls.remember(file, proc)
    assert setting.read_text() == "1"
    sysctls.restore(file, proc)
    assert setting.read_text() == "0"
    assert not file.exists()
    sysctls.restore(file, proc)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in ("etcd", "a/kubelet", "b/kubelet", "a/containerd"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.log").write_text("x")
    return tmp_path


def test_logs_are_named_as_people_name_the_components(logs: Path) -> None:
    assert log_names(logs) == ["a/containerd", "a/kubelet", "b/kubelet", "etcd"]
    assert find_log(logs, "etcd") == logs / "etcd.log"
    assert find_log(logs, "b/kubelet") == logs / "b" / "kubelet.log"
    assert find_log(logs, "containerd") == logs / "a" / "containerd.log"


@pytest.mark.parametrize(
    ("component", "says"),
    [("kubelet", "name one of: a/kubelet, b/kubelet"), ("x", "no log of x; there are: a/cont")],
)
def test_a_log_that_cannot_be_told_is_refused(logs: Path, component: str, says: str) -> None:
    with pytest.raises(LocalError, match=says):
        find_log(logs, component)


def test_status_says_what_is_down() -> None:
    seen = Seen(
        name="demo",
        server="https://10.200.0.1:6443",
        block="10.200.0.0/16",
        kubeconfig="/x",
        components={"etcd": True, "kube-scheduler": False},
        nodes=(
            NodeSeen("demo-1", "10.200.0.11", running=True, ready=True),
            NodeSeen("demo-2", "10.200.0.12", running=True, ready=False),
            NodeSeen("demo-3", "10.200.0.13", running=False, ready=True),
        ),
    )
    words = [line.split() for line in table(seen).splitlines()]
    assert ["kube-scheduler", "DOWN"] in words
    assert ["demo-1", "Ready", "10.200.0.11"] in words
    assert ["demo-2", "NOT", "READY", "10.200.0.12"] in words
    assert ["demo-3", "DOWN", "10.200.0.13"] in words
    assert not seen.well
