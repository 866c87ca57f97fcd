"""Two slurmctlds with the slurm.conf of a Controller with a backup, which takes over."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from windlass.api.controller import Controller
from windlass.local import images
from windlass.local.errors import LocalError
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.operator.slurmctld import identity
from windlass.operator.slurmctld.slurm_conf import Cluster, slurm_conf
from windlass.testing.contained import Contained

# No worker is there, so jobs wait. NoCtldInAddrAny: both are on one machine, with an address each.
EXTRA = """\
SlurmctldTimeout=10
CommunicationParameters=NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
NodeName=ghost CPUs=1 RealMemory=4096
PartitionName=all Nodes=ghost Default=YES
"""
PRIMARY, BACKUP = "slurm-controller-0", "slurm-controller-1"
ADDRESSES = {PRIMARY: "10.9.0.2", BACKUP: "10.9.0.3"}

# As pods do: a host name, a network and a /run of its own, the state in common.
SERVE = """
set -e
mkdir -p /var/log/slurm
ip link set lo up
ip link add hub type bridge
ip link set hub up
echo "$HOSTS" > /etc/hosts
chown -R slurm:slurm /etc/slurm /var/spool/slurmctld
for host in $NAMES; do
  ip address add "$(sed -n "s/ $host .*//p" /etc/hosts)/24" dev hub
  unshare --uts --mount bash -ec "$OWN" "$host" > "/var/log/$host.log" 2>&1 &
  echo $! > "/run/$host.pid"
done
exec sleep infinity
"""
OWN = """
hostname "$0"
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/log/slurm
mkdir /run/slurm /run/slurmctld
chown slurm:slurm /run /run/slurm /run/slurmctld /var/log/slurm
exec setpriv --reuid=slurm --regid=slurm --clear-groups \\
  python3 /usr/local/lib/windlass/keeper.py -- slurmctld --systemd
"""
INSIDE = 'exec nsenter --target="$(cat "/run/$0.pid")" --mount --net --uts --root --wd=/ -- "$@"'
STATUS = """
import sys, urllib.error, urllib.request
try: print(urllib.request.urlopen(sys.argv[1], timeout=2).status)
except urllib.error.HTTPError as error: print(error.code)
except OSError: print(0)
"""


def controller() -> Controller:
    spec = {
        "ha": {"enabled": True},
        "persistence": {"existingClaim": "state"},
        "extraConf": EXTRA,
    }
    metadata = {"name": "slurm", "namespace": "ns"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Controller)


def hosts(active: str) -> str:
    """Each by its own name, and the active one by that of the Service."""
    lines = ["127.0.0.1 localhost"]
    for host, address in ADDRESSES.items():
        service = identity.host(controller()) if host == active else ""
        lines.append(f"{address} {host} {host}.slurm-controller-internal.ns {service}")
    return "\n".join(lines)


@dataclass(slots=True)
class Pair:
    root: Path
    folder: Path
    contained: Contained = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.contained = Contained(self.root, self.folder, "two slurmctlds")

    def start(self) -> None:
        made = slurm_conf(Cluster(controller=controller()))
        assert not made.faults, made.faults
        etc, state = self.folder / "etc", self.folder / "state"
        for each in (etc, state / identity.cluster_name(controller())):
            each.mkdir(parents=True)
        (etc / "slurm.conf").write_text(made.text)
        (etc / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        for name in ("slurm.key", "jwt.key"):
            (etc / name).touch(mode=0o600)
            (etc / name).write_bytes(secrets.token_bytes(1024))
        variables = {
            "HOSTS": hosts(PRIMARY),
            "NAMES": " ".join(ADDRESSES),
            "OWN": OWN,
            "BODY": SERVE,
        }
        exports = "\n".join(f"export {name}={_quoted(text)}" for name, text in variables.items())
        binds = {"etc/slurm": etc, "var/spool/slurmctld": state, "var/log": self.contained.logs}
        self.contained.start(f'{exports}\nexec unshare --net bash -c "$BODY"', binds)

    def lead_to(self, active: str) -> None:
        """What the Service does once another one is ready."""
        self.contained.inside("sh", "-c", 'echo "$0" > /etc/hosts', hosts(active))

    def inside(self, host: str, *words: str) -> str:
        return self.contained.inside("sh", "-c", INSIDE, host, *words)

    def status(self, host: str, path: str) -> int:
        url = f"http://{ADDRESSES[host]}:6817{path}"
        try:
            return int(self.inside(BACKUP, "python3", "-c", STATUS, url))
        except LocalError:
            return 0

    def kill(self, host: str) -> None:
        """With all that it started, as a node without power does."""
        script = 'pid=$(cat "/run/$0.pid"); pkill -KILL -P "$pid"; kill -KILL "$pid"'
        self.contained.inside("sh", "-c", script, host)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@pytest.fixture
def pair(as_root: None, folders: Folders, display: Display, tmp_path: Path) -> Iterator[Pair]:
    root = images.root_of("slurm", folders.cache, display, programs={})
    running = Pair(root, tmp_path / "pair")
    running.start()
    yield running
    running.contained.stop()


@pytest.mark.timeout(300)
def test_the_backup_is_ready_only_when_it_has_taken_over_and_knows_the_jobs(pair: Pair) -> None:
    def ready(host: str) -> bool:
        return pair.status(host, "/readyz") == 204

    # At their very first start the primary waits half a minute for a word of the backup.
    wait_for(lambda: ready(PRIMARY), "the primary is ready", within=120)
    wait_for(lambda: pair.status(BACKUP, "/livez") == 204, "the backup lives", within=60)
    assert not ready(BACKUP)
    job = pair.inside(PRIMARY, "sbatch", "--parsable", "--wrap=true").strip()
    saved = pair.folder / "state" / identity.cluster_name(controller()) / "job_state"
    wait_for(saved.exists, "the job is in the state that they share", within=60)

    pair.kill(PRIMARY)

    wait_for(lambda: ready(BACKUP), "the backup is ready", within=90)
    pair.lead_to(BACKUP)
    assert pair.inside(BACKUP, "squeue", "--noheader", "--format=%i").split() == [job]
