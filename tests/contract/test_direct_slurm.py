"""The Slurm outside of pods, for comparison with the operator's: a real one that goes away."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass.local import images
from windlass.local.layout import Folders
from windlass.local.network import links
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.testing.direct_slurm import CGROUP, DirectSlurm, Workers

KILLED = """
import os, signal, sys
from pathlib import Path
from windlass.testing.direct_slurm import DirectSlurm
DirectSlurm(Path(sys.argv[1]), Path(sys.argv[2])).start()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def root(as_root: None, folders: Folders, display: Display) -> Path:
    return images.root_of("slurm", folders.cache, display, programs={})


@pytest.fixture(scope="module")
def direct(
    root: Path, explaining_logs: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DirectSlurm]:
    slurm = DirectSlurm(root, tmp_path_factory.mktemp("direct") / "slurm")
    explaining_logs.append(slurm.contained.logs)
    slurm.start()
    yield slurm
    slurm.stop()
    explaining_logs.remove(slurm.contained.logs)


def job(slurm: DirectSlurm, number: str) -> str:
    return slurm.run("scontrol", "--oneliner", "show", "job", number)


def shown(slurm: DirectSlurm, worker: str) -> str:
    """What slurmd itself says of itself."""
    return slurm.run_on(worker, "scontrol", "show", "slurmd")


def test_a_step_runs_on_every_worker(direct: DirectSlurm) -> None:
    said = direct.run("srun", "--nodes=2", "--ntasks-per-node=1", "hostname")
    assert sorted(said.split()) == list(direct.workers)


def test_a_task_of_a_job_has_cgroups_below_those_of_its_worker(direct: DirectSlurm) -> None:
    (line,) = direct.run("srun", "--nodelist=worker-1", "grep", ":memory:", "/proc/self/cgroup")[
        :-1
    ].splitlines()
    group = line.split(":")[2]
    assert group.startswith(f"/{direct.cgroup}/worker-1/")
    assert "/step_0/" in group


def test_a_batch_job_that_is_requeued_runs_again(direct: DirectSlurm) -> None:
    script = 'test "$SLURM_RESTART_COUNT" || sleep 300'
    number = direct.run("sbatch", "--parsable", "--requeue", "--wrap", script).strip()
    wait_for(lambda: "JobState=RUNNING" in job(direct, number), "it runs", within=20)
    direct.run("scontrol", "requeue", number)
    wait_for(lambda: "JobState=PENDING" in job(direct, number), "it waits", within=20)
    # It would wait two minutes, in case a node is slow to end the first run.
    direct.run("scontrol", "update", f"JobId={number}", "StartTime=now")
    wait_for(lambda: "JobState=COMPLETED" in job(direct, number), "it ran again", within=60)
    assert "Restarts=1" in job(direct, number)


def test_a_change_of_slurm_conf_reaches_every_daemon(direct: DirectSlurm) -> None:
    assert "Slurmd Debug             = 3" in shown(direct, "worker-0")
    direct.change("SlurmdDebug=verbose")
    direct.run("scontrol", "reconfigure")
    for worker in direct.workers:
        wait_for(
            lambda worker=worker: "Slurmd Debug             = 4" in shown(direct, worker),  # type: ignore[misc]
            f"{worker} has it",
            within=20,
        )


def test_nothing_is_left_of_one_that_was_stopped(root: Path, tmp_path: Path) -> None:
    before = links()
    slurm = DirectSlurm(root, tmp_path / "slurm", Workers(count=1))
    slurm.start()
    mounted = Path("/proc/self/mounts").read_text()
    assert slurm.cgroups.processes(slurm.cgroup)
    slurm.stop()
    assert slurm.cgroups.processes(slurm.cgroup) == []
    assert slurm.cgroups.remains(slurm.cgroup) == []
    assert links() <= before
    assert str(tmp_path) not in mounted


def test_what_a_killed_run_left_is_cleared_by_the_next(root: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(root), str(tmp_path / "killed")]
    killed = subprocess.Popen(words)
    assert killed.wait() == -9
    slurm = DirectSlurm(root, tmp_path / "next", Workers(count=1))

    def left() -> list[Path]:
        mark = f"{killed.pid}-*"
        return [one for top in slurm.cgroups.remains(CGROUP) for one in top.glob(mark)]

    assert left()
    slurm.start()
    assert left() == []
    slurm.stop()
