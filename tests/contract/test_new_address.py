"""slurmctld is found by another address while a job runs, as when its Service was made anew."""

import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contract.test_kept_worker import CONF
from windlass import inpod
from windlass.local import images
from windlass.local.errors import LocalError
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.testing.contained import Contained

POD, OLD, NEW = "10.9.0.2", "10.9.0.4", "10.9.0.5"
NAME = "the-service"
# Of a Service the machine has no address: it only leads there.
LEADS = "ip route {verb} local {address} dev lo table local src " + POD
SERVE = f"""
set -e
ip link set lo up
ip address add {POD}/32 dev lo
{LEADS.format(verb="add", address=OLD)}
echo "{OLD} {NAME}" >> /etc/hosts
mkdir -p /run/slurmctld
echo $$ > /run/network.pid
python3 /inpod/keeper.py -- slurmctld --systemd >> /out/slurmctld.log 2>&1 &
until scontrol ping | grep -q UP; do sleep 0.1; done
POD_CPUS=1 POD_MEMORY=1024 LOG_FORMAT=text python3 /inpod/start.py slurmd -Z -N worker-0 \
  --conf-server {NAME}:6817 --conf "NodeAddr={POD}" >> /out/slurmd.log 2>&1 &
wait -n
"""
INSIDE = 'exec nsenter --target="$(cat /run/network.pid)" --net -- "$@"'


def conf(address: str) -> str:
    host = socket.gethostname().partition(".")[0]
    text = CONF.format(host=host, port=6817, slurmd_port=6818)
    return text.replace("(127.0.0.1)", f"({address})")


@dataclass(frozen=True, slots=True)
class Served:
    contained: Contained

    def run(self, words: str) -> str:
        return self.contained.inside("sh", "-c", INSIDE, "inside", "sh", "-c", f"cd /tmp; {words}")

    def says(self, text: str, words: str) -> bool:
        try:
            return text in self.run(words)
        except LocalError:
            return False

    def node_is(self, state: str) -> bool:
        return self.says(f"State={state}", "scontrol --oneliner show node worker-0")


@pytest.fixture
def served(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path: Path,
) -> Iterator[Served]:
    root = images.root_of("slurm", folders.cache, display, programs={})
    contained = Contained(root, tmp_path, "slurmctld behind a Service")
    explaining_logs.append(contained.logs)
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
    (etc / "slurm.key").touch(mode=0o600)
    (etc / "slurm.key").write_bytes(secrets.token_bytes(64))
    (etc / "slurm.conf").write_text(conf(OLD))
    binds = {"etc/slurm": etc, "out": contained.logs, "inpod": Path(inpod.__file__).parent}
    contained.start(f"exec unshare --net bash -c '{SERVE}'", binds)
    yield Served(contained)
    contained.stop()


def test_a_job_that_began_before_ends_as_it_should(served: Served) -> None:
    wait_for(lambda: served.node_is("IDLE"), "the worker is idle", within=30)
    job = served.run(
        'sbatch --parsable --output=/out/job.txt --wrap "srun sleep 4; squeue"'
    ).strip()
    wait_for(lambda: served.node_is("ALLOCATED"), "the job runs", within=10)

    served.run(LEADS.format(verb="add", address=NEW))
    served.run(LEADS.format(verb="del", address=OLD))
    (served.contained.folder / "etc/slurm.conf").write_text(conf(NEW))
    served.run("scontrol reconfigure")

    ended = f"scontrol --oneliner show job {job}"
    wait_for(lambda: served.says("JobState=COMPLETED", ended), "the job ended", within=20)
    assert f"({NEW})" in served.run("cat /run/slurm/conf/slurm.conf")
    assert f" {job} " in (served.contained.logs / "job.txt").read_text()
    served.run("timeout 20 srun true")
