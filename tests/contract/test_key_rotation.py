"""slurm.key and the JWT key replaced under a slurmctld, a slurmd and jobs that run: the steps of
docs/howto/rotate-keys.md, in their order, and what each would break if it came too early."""

import secrets
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from windlass.local import images
from windlass.local.errors import LocalError
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.slurm.key_set import KeySet
from windlass.slurm.tokens import mint
from windlass.testing.contained import serving
from windlass.testing.ports import free_ports
from windlass.testing.slurm import Besides, RealSlurm

OLD, NEW = (secrets.token_hex(32) for _ in range(2))
BEFORE = KeySet.of(OLD.encode(), "old")
BOTH = BEFORE.adding(NEW.encode(), "new")
SWITCHED = BOTH.signing_with("new")
AFTER = SWITCHED.without("old")

CONF = """\
NodeName=worker NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=1000
SlurmdParameters=config_overrides
SlurmdPidFile=/run/slurmd.pid
SlurmdSpoolDir=/var/spool/slurmd
ReturnToService=2
SlurmctldDebug=debug
SlurmdDebug=debug
"""

# slurmd, as root, takes no folder that is slurm's.
PREPARE = """
mkdir -p /var/spool/slurmd
rm -rf /run/slurm
"""

# A daemon of a node in each state of the change; commands speak through it.
CLIENTS = {
    "old": ("SLURM_SACK_KEY", OLD),
    "new": ("SLURM_SACK_KEY", NEW),
    "both": ("SLURM_SACK_JWKS", str(BOTH)),
    "switched": ("SLURM_SACK_JWKS", str(SWITCHED)),
}
SACKD = """
mkdir -p /run/sack-{name}
{variable}=/etc/slurm/client-{name} RUNTIME_DIRECTORY=/run/sack-{name} \\
  /usr/sbin/sackd -D > /var/log/sackd-{name}.log 2>&1 &
echo $! > /run/sack-{name}/pid
"""
WAITS = "while ! test -e /run/{name}.may-end; do sleep 0.1; done; exit 3"


@dataclass(frozen=True, slots=True)
class Cluster:
    slurm: RealSlurm

    @property
    def etc(self) -> Path:
        return self.slurm.folder / "etc"

    def put(self, name: str, text: str) -> None:
        """Replace a file as kubelet does: at once."""
        fresh = self.etc / f"{name}.fresh"
        fresh.touch(mode=0o600)
        fresh.write_text(text)
        fresh.rename(self.etc / name)

    def have(self, keys: KeySet) -> None:
        """Give both daemons these keys, and wait until both have read them."""
        self.put("slurm.jwks", str(keys))
        before = {daemon: self._reads(daemon) for daemon in ("slurmctld", "slurmd")}
        self.slurm.scontrol("reconfigure")
        wait_for(
            lambda: all(self._reads(daemon) > count for daemon, count in before.items()),
            "both daemons have read slurm.jwks",
            within=30,
        )
        wait_for(lambda: self.accepts("switched"), "slurmctld answers", within=30)

    def _reads(self, daemon: str) -> int:
        log = (self.slurm.logs / f"{daemon}.log").read_text(errors="replace")
        return log.count("loading keys file `/etc/slurm/slurm.jwks`")

    def accepts(self, client: str) -> bool:
        """Whether a command that speaks through this daemon gets an answer."""
        sack = f"SLURM_SACK_SOCKET=/run/sack-{client}/sack.socket"
        try:
            self.slurm.inside("env", sack, "timeout", "10", "sinfo", "--noheader")
        except LocalError:
            return False
        return True

    def gives(self, client: str, keys: KeySet) -> None:
        """Replace the keys of a sackd, and have it read them."""
        self.put(f"client-{client}", str(keys))
        self.slurm.inside("sh", "-c", f"kill -HUP $(cat /run/sack-{client}/pid)")

    def begin(self, name: str) -> str:
        """A job that runs until it may end."""
        wrap = WAITS.format(name=name)
        words = (
            "env",
            "--chdir=/tmp",
            "sbatch",
            "--parsable",
            "--output=/dev/null",
            f"--wrap={wrap}",
        )
        job = self.slurm.inside(*words, "--mem=10", f"--job-name={name}").strip()
        wait_for(lambda: "JobState=RUNNING" in self.shown(job), f"job {name} runs", within=30)
        return job

    def end(self, name: str) -> None:
        self.slurm.inside("touch", f"/run/{name}.may-end")

    def shown(self, job: str) -> str:
        return self.slurm.scontrol("--oneliner", "show", "job", job)

    def wait_for_end(self, job: str) -> None:
        wait_for(lambda: "JobState=FAILED" in self.shown(job), f"job {job} ends", within=60)
        assert "ExitCode=3:0" in self.shown(job)
        assert "Restarts=0" in self.shown(job)

    def takes_token(self, key: bytes) -> bool:
        """Whether slurmctld takes a token that this key signed."""
        try:
            token = mint(key, "root", time.time(), 60)
            self.slurm.inside("env", f"SLURM_JWT={token}", "sinfo", "--noheader")
        except LocalError:
            return False
        return True


@pytest.fixture
def cluster(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path: Path,
) -> Iterator[Cluster]:
    """A slurmctld and a slurmd of its own, with a slurm.key as ever."""
    (port,) = free_ports(1)
    host = socket.gethostname().partition(".")[0]
    sackds = "".join(
        SACKD.format(name=name, variable=variable) for name, (variable, _) in CLIENTS.items()
    )
    besides = Besides(
        conf=CONF.format(host=host, port=port),
        files={
            "slurm.key": OLD,
            "cgroup.conf": "CgroupPlugin=disabled\n",
            **{f"client-{name}": text for name, (_, text) in CLIENTS.items()},
        },
        script=PREPARE + serving("slurmd", "slurmd -D -N worker") + sackds,
    )
    root = images.root_of("slurm", folders.cache, display, programs={})
    server = RealSlurm(root, tmp_path / "slurm", besides)
    explaining_logs.append(server.logs)
    server.start()
    try:
        found = Cluster(server)
        wait_for(
            lambda: server.inside("sinfo", "--noheader", "--format=%t").strip() == "idle",
            "the worker is idle",
            within=30,
        )
        yield found
    finally:
        server.stop()


def test_slurm_key_is_replaced_while_jobs_run(cluster: Cluster) -> None:
    early = cluster.begin("early")
    assert (cluster.accepts("old"), cluster.accepts("new")) == (True, False)

    cluster.have(BOTH)
    assert cluster.accepts("old"), "a daemon that has read nothing new goes on"
    assert cluster.accepts("both")
    assert cluster.accepts("switched"), "and what is signed with the new key counts already"
    middle = cluster.begin("middle")

    cluster.have(SWITCHED)
    assert cluster.accepts("both")
    assert not cluster.accepts("old"), "so every daemon must have both keys before this step"
    late = cluster.begin("late")
    cluster.end("early")
    cluster.wait_for_end(early)

    cluster.have(AFTER)
    assert not cluster.accepts("both"), "the old key opens nothing any more"
    assert cluster.accepts("new"), "slurm.key may be the new key alone from now on"
    cluster.gives("both", AFTER)
    wait_for(lambda: cluster.accepts("both"), "sackd has read its keys again", within=30)
    for name, job in (("middle", middle), ("late", late)):
        cluster.end(name)
        cluster.wait_for_end(job)


def test_the_jwt_key_is_replaced_at_once_and_jobs_do_not_use_it(cluster: Cluster) -> None:
    job = cluster.begin("tokenless")
    old, new = cluster.slurm.jwt_key.read_bytes(), secrets.token_hex(32)
    assert (cluster.takes_token(old), cluster.takes_token(new.encode())) == (True, False)

    cluster.put("jwt_hs256.key", new)
    assert cluster.takes_token(old), "a file that changes is not read before a reconfigure"
    cluster.slurm.scontrol("reconfigure")
    wait_for(lambda: cluster.takes_token(new.encode()), "the new key counts", within=30)
    assert not cluster.takes_token(old), "there is no time in which both count"

    cluster.end("tokenless")
    cluster.wait_for_end(job)
