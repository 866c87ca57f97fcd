"""A slurmd as its pod runs it: what it offers, and that its jobs outlive it."""

import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from windlass import inpod
from windlass.local import images
from windlass.local.errors import LocalError
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.slurm.key_set import KeySet
from windlass.testing.contained import Contained
from windlass.testing.ports import free_ports

CONF = """\
ClusterName=worker
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={slurmd_port}
SlurmUser=root
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
SlurmctldParameters=enable_configless
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/linuxproc
MailProg=/bin/true
MaxNodeCount=10
SlurmdDebug=debug
PartitionName=all Nodes=ALL Default=YES State=UP
"""

SCRIPT = """
mkdir -p /run/slurmctld
python3 /inpod/keeper.py -- slurmctld --systemd >> /out/slurmctld.log 2>&1 &
until scontrol ping | grep -q UP; do sleep 0.1; done
export SLURM_SACK_JWKS=/etc/slurm/slurm.jwks
POD_CPUS=1 POD_MEMORY=1024 SSHD=yes SSHD_OPTIONS='-p {ssh_port}' LOG_FORMAT=text \
  python3 /inpod/start.py slurmd -Z -N worker-0 --conf-server 127.0.0.1:{port} \
  --conf 'Features=x NodeAddr=127.0.0.1' >> /out/slurmd.log 2>&1 &
wait -n
"""


@dataclass(frozen=True, slots=True)
class Worker:
    contained: Contained
    ssh_port: int

    @property
    def etc(self) -> Path:
        return self.contained.folder / "etc"

    def run(self, *words: str) -> str:
        return self.contained.inside(*words)

    def node(self) -> str:
        try:
            return self.run("scontrol", "--oneliner", "show", "node", "worker-0")
        except LocalError:
            return ""

    def slurmd(self) -> str:
        """The number of its process."""
        return self.run("pgrep", "--newest", "--full", "^slurmd --systemd").strip()

    def put(self, name: str, text: str) -> None:
        """Replace a file as the kubelet does: at once."""
        fresh = self.etc / ".fresh"
        fresh.touch(mode=0o600)
        fresh.write_text(text)
        fresh.rename(self.etc / name)

    def run_job(self) -> None:
        wait_for(lambda: "State=IDLE" in self.node(), "the worker is idle", within=30)
        self.run("env", "--chdir=/tmp", "timeout", "20", "srun", "true")

    def said(self, text: str) -> bool:
        return text in (self.contained.logs / "slurmd.log").read_text()


@pytest.fixture(scope="module")
def worker(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("worker")
    root = images.root_of("slurm", folders.cache, display, programs={})
    contained = Contained(root, folder, "a worker")
    explaining_logs.append(contained.logs)
    port, slurmd_port, ssh_port = free_ports(3)
    host = socket.gethostname().partition(".")[0]
    (folder / "etc").mkdir()
    conf = CONF.format(host=host, port=port, slurmd_port=slurmd_port)
    (folder / "etc/slurm.conf").write_text(conf)
    (folder / "etc/cgroup.conf").write_text("CgroupPlugin=disabled\n")
    (folder / "etc/slurm.key").touch(mode=0o600)
    (folder / "etc/slurm.key").write_bytes(secrets.token_bytes(64))
    binds = {"etc/slurm": folder / "etc", "out": contained.logs}
    script = SCRIPT.format(port=port, ssh_port=ssh_port)
    contained.start(script, {**binds, "inpod": Path(inpod.__file__).parent})
    worker = Worker(contained, ssh_port)
    try:
        wait_for(lambda: "State=IDLE" in worker.node(), "the worker is idle", within=30)
        yield worker
    finally:
        contained.stop()


def test_it_offers_what_its_pod_may_use(worker: Worker) -> None:
    words = worker.node().split()
    assert {"CPUTot=1", "RealMemory=960", "AvailableFeatures=x"} <= set(words)


def test_a_job_goes_on_while_slurmd_is_reconfigured_and_killed(worker: Worker) -> None:
    worker.run("sh", "-c", "cd /tmp && sbatch --output=/out/job.txt --wrap 'sleep 4; echo done'")
    wait_for(lambda: "State=ALLOCATED" in worker.node(), "the job runs", within=10)
    first = worker.slurmd()

    worker.run("scontrol", "reconfigure")
    wait_for(lambda: worker.said("slurmd goes on as process"), "slurmd handed over", within=10)
    second = worker.slurmd()
    assert second != first

    worker.run("kill", "-KILL", second)
    wait_for(lambda: worker.said("slurmd ended with status 137"), "slurmd died", within=10)
    wait_for(lambda: "State=IDLE" in worker.node(), "the job ended", within=20)
    assert (worker.contained.logs / "job.txt").read_text() == "done\n"


def test_a_slurm_jwks_that_comes_later_is_read_at_once(worker: Worker) -> None:
    old = (worker.etc / "slurm.key").read_bytes()
    both = KeySet.of(old, "old").adding(secrets.token_bytes(64), "new")

    worker.put("slurm.jwks", str(both))

    read = "loading keys file `/etc/slurm/slurm.jwks`"
    wait_for(lambda: worker.said(read), "slurmd has read the keys", within=10)
    worker.run_job()


def test_a_slurm_jwks_that_cannot_be_read_does_not_end_slurmd(worker: Worker) -> None:
    before = worker.slurmd()

    worker.put("slurm.jwks", "{")

    wait_for(lambda: worker.said("fatal: "), "the new process of slurmd ended", within=10)
    assert worker.slurmd() == before
    (worker.etc / "slurm.jwks").unlink()
    wait_for(lambda: worker.slurmd() != before, "slurmd goes on with slurm.key", within=20)
    worker.run_job()


def test_who_asks_for_sshd_has_one_that_asks_slurm(worker: Worker) -> None:
    with socket.create_connection(("127.0.0.1", worker.ssh_port), timeout=5) as connection:
        assert connection.recv(64).startswith(b"SSH-2.0-")
    assert "account required pam_slurm_adopt.so" in worker.run("cat", "/etc/pam.d/sshd")
