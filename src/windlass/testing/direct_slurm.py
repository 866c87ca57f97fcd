"""A Slurm with workers that no Kubernetes has a hand in: what the operator's is measured against.

slurmctld and every slurmd run from the Slurm image with the slurm.conf that the operator writes,
each in a network namespace, with cgroups of its own and under the keeper, as they do in pods. The
namespaces have no name and hold all links and mounts, so that the kernel removes them with the
last process. Cgroups alone outlive their processes: they are named for the process that made them,
and whoever starts next removes those of the dead. Needs cgroup v1.
"""

import os
import secrets
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from windlass import inpod
from windlass.api import names
from windlass.api.controller import Controller
from windlass.api.node_set import NodeSet
from windlass.inpod.start import for_jobs
from windlass.local.cgroups import Cgroups, find_cgroups
from windlass.local.errors import LocalError
from windlass.local.masters import tail
from windlass.local.process import Identity, identify
from windlass.local.waiting import wait_for
from windlass.operator.slurmctld.defaults import cgroup_conf
from windlass.operator.slurmctld.files import Files
from windlass.operator.slurmctld.slurm_conf import Cluster, slurm_conf
from windlass.operator.workers.conf import node_conf
from windlass.testing.contained import Contained

CGROUP: Final = "windlass-direct"
NAMESPACE: Final = "direct"
CONTROLLER: Final = "slurm"
SET: Final = "worker"
SLURMCTLD: Final = f"{CONTROLLER}-controller-0"
NETWORK: Final = "10.77.0"


# The first process: slurmctld's network, and a bridge in it that the workers are plugged into.
FIRST: Final = """
set -e
ip link set lo up
ip link add hub type bridge
ip address add "$ADDRESS/24" dev hub
ip link set hub up
echo "$HOSTS" > /etc/hosts
start() {
  host=$1 script=$2
  shift 2
  unshare "$@" --uts --mount bash -ec "$OWN$script" "$host" > "/var/log/$host.log" 2>&1 &
  echo $! > "/run/$host.pid"
}
"""
# What every daemon does in namespaces of its own; $0 is its host's name.
OWN: Final = """
hostname "$0"
ip link set lo up
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /sys/fs/cgroup
for own in /cgroups/"$0"/*; do
  echo 0 > "$own/cgroup.procs"
  mkdir "/sys/fs/cgroup/${own##*/}"
  mount --bind "$own" "/sys/fs/cgroup/${own##*/}"
done
for place in /run /tmp /etc/slurm; do
  mkdir -p "$place"
  mount -t tmpfs -o mode=755 tmpfs "$place"
done
chmod 1777 /tmp
mkdir -p "/var/log/$0" /var/log/slurm "/spool/$0" /var/spool/slurmd
mount --bind "/var/log/$0" /var/log/slurm
mount --bind "/spool/$0" /var/spool/slurmd
"""
SERVE_SLURMCTLD: Final = """
cp /given/* /etc/slurm/
mkdir -p /run/slurm /var/spool/slurmctld
chown -R slurm:slurm /run /etc/slurm /var/log/slurm /var/spool/slurmctld
exec setpriv --reuid=slurm --regid=slurm --clear-groups \\
  python3 /opt/windlass/keeper.py -- slurmctld --systemd
"""
SERVE_SLURMD: Final = """
ip link add eth0 type veth peer name "$0" netns 1
nsenter --target=1 --net ip link set "$0" master hub up
ip address add "$(sed -n "s/ $0\\$//p" /etc/hosts)/24" dev eth0
ip link set eth0 up
cp --preserve=mode /given/slurm.key /etc/slurm/
exec python3 /opt/windlass/keeper.py --restart -- \\
  slurmd --systemd -Z --conf-server "$SERVER" --conf "$NODE"
"""
LAST: Final = "\nwait -n\n"
"""The first daemon that ends takes the others with it."""
INSIDE: Final = """
exec nsenter --target="$(cat "/run/$0.pid")" --mount --net --uts --root --wd=/ -- "$@"
"""


@dataclass(frozen=True, slots=True)
class Workers:
    """How many there are, and what each offers."""

    count: int = 2
    cpus: int = 1
    memory: int = 1024
    """MiB, as the limit of a pod."""

    def __iter__(self) -> Iterator[str]:
        return (f"{SET}-{number}" for number in range(self.count))

    def node_set(self) -> NodeSet:
        limits = {"cpu": self.cpus, "memory": f"{self.memory}Mi"}
        spec = {
            "controllerRef": {"name": CONTROLLER},
            "replicas": self.count,
            "slurmd": {"resources": {"limits": limits}},
            "partition": {"enabled": True, "config": "Default=YES MaxTime=UNLIMITED"},
        }
        return msgspec.convert({"metadata": _metadata(SET), "spec": spec}, NodeSet)

    def line(self) -> str:
        """What slurmd is told of itself, as start.py does in a pod."""
        offered = f"CPUs={self.cpus} RealMemory={for_jobs(self.memory)}"
        return f"{node_conf(self.node_set())} {offered}"


@dataclass(slots=True)
class DirectSlurm:
    """One Slurm; `folder` is an empty folder that keeps its configuration, state and logs."""

    image_root: Path
    folder: Path
    workers: Workers = field(default_factory=Workers)
    extra_conf: str = ""
    contained: Contained = field(init=False, repr=False)
    cgroups: Cgroups = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.contained = Contained(self.image_root, self.folder, "Slurm")
        self.cgroups = find_cgroups(Path("/proc/self/mounts").read_text())
        if self.cgroups.unified:
            raise LocalError("Slurm outside of pods needs the controllers of cgroup v1")

    @property
    def cgroup(self) -> str:
        """Above all of ours; it tells whose they are."""
        me = identify(os.getpid())
        assert me is not None
        return f"{CGROUP}/{me.pid}-{me.started}-{self.folder.name}"

    def start(self, within: float = 60) -> None:
        """Return once slurmctld answers and every worker is idle."""
        clear(self.cgroups)
        for name in ("etc", "log", "spool", "state"):
            (self.folder / name).mkdir(parents=True)
        self._write_files()
        self.contained.start(self._script(), self._binds())
        try:
            wait_for(self._all_idle, "the workers are idle", within=within)
        except LocalError as error:
            words = self.last_words()
            self.stop()
            raise LocalError(f"{error}\n{words}") from error

    def stop(self) -> None:
        """End everything and remove it; the logs stay in the folder."""
        self.contained.stop()
        self.cgroups.kill(self.cgroup)
        self.cgroups.remove(self.cgroup)

    def run(self, *words: str) -> str:
        """Run a program as root beside slurmctld."""
        return self.run_on(SLURMCTLD, *words)

    def run_on(self, host: str, *words: str) -> str:
        return self.contained.inside("sh", "-c", INSIDE, host, *words)

    def change(self, extra_conf: str) -> None:
        """Write slurm.conf anew; `scontrol reconfigure` brings it into force."""
        self.extra_conf = extra_conf
        (self.folder / "etc" / "slurm.conf").write_text(self._slurm_conf())
        self.run("sh", "-c", "cat /given/slurm.conf > /etc/slurm/slurm.conf")

    def idle(self) -> set[str]:
        self.contained.check()
        try:
            listed = self.run("sinfo", "--noheader", "--Node", "--format=%N %T")
        except LocalError:
            return set()
        return {line.split()[0] for line in listed.splitlines() if line.split()[1:] == ["idle"]}

    def last_words(self) -> str:
        """The ends of the logs, for the person who reads a failure."""
        logs = sorted(self.contained.logs.rglob("*.log"))
        return "\n".join(f"--- {log.name}\n{tail(log, 20)}" for log in logs)

    def _all_idle(self) -> bool:
        return self.idle() == set(self.workers)

    # --- what it is made of ----------------------------------------------------------------------

    def _slurm_conf(self) -> str:
        spec = {"extraConf": self.extra_conf}
        controller = msgspec.convert({"metadata": _metadata(CONTROLLER), "spec": spec}, Controller)
        made = slurm_conf(Cluster(controller=controller, node_sets=(self.workers.node_set(),)))
        assert not made.faults, made.faults
        return made.text

    def _write_files(self) -> None:
        etc = self.folder / "etc"
        (etc / "slurm.conf").write_text(self._slurm_conf())
        (etc / "cgroup.conf").write_text(cgroup_conf((self.workers.node_set(),), Files()))
        for name in ("slurm.key", "jwt.key"):
            (etc / name).touch(mode=0o600)
            (etc / name).write_bytes(secrets.token_bytes(1024))

    def _script(self) -> str:
        hosts = [SLURMCTLD, *self.workers]
        addresses = {host: f"{NETWORK}.{10 + number}" for number, host in enumerate(hosts)}
        service = f"{names.slurmctld(CONTROLLER)}.{NAMESPACE}"
        table = ["127.0.0.1 localhost", f"{addresses[SLURMCTLD]} {service}"]
        table += [f"{address} {host}" for host, address in addresses.items()]
        variables = {
            "ADDRESS": addresses[SLURMCTLD],
            "HOSTS": "\n".join(table),
            "OWN": OWN,
            "SERVE_SLURMCTLD": SERVE_SLURMCTLD,
            "SERVE_SLURMD": SERVE_SLURMD,
            "SERVER": f"{service}:{names.SLURMCTLD_PORT}",
            "NODE": self.workers.line(),
        }
        exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        starts = [f'start {SLURMCTLD} "$SERVE_SLURMCTLD"']
        starts += [f'start {worker} "$SERVE_SLURMD" --net' for worker in self.workers]
        body = "\n".join([*exports, FIRST, *starts, LAST])
        return f"exec unshare --net bash -c {shlex.quote(body)}"

    def _binds(self) -> Mapping[str, Path]:
        programs = Path(inpod.__path__[0])
        binds = {"opt/windlass": programs, "given": self.folder / "etc"}
        binds |= {"var/log": self.contained.logs, "var/spool/slurmctld": self.folder / "state"}
        binds["spool"] = self.folder / "spool"  # on a disk, as anywhere
        for host in (SLURMCTLD, *self.workers):
            self.cgroups.make(f"{self.cgroup}/{host}")
            for hierarchy in self.cgroups.v1:
                place = f"cgroups/{host}/{hierarchy.name}"
                binds[place] = hierarchy / self.cgroup / host
        return binds


def clear(cgroups: Cgroups) -> None:
    """Remove what processes that are no more have left behind."""
    tops = cgroups.remains(CGROUP)
    for name in {each.name for top in tops for each in top.iterdir() if each.is_dir()}:
        pid, started, *_ = name.split("-")
        if not Identity(int(pid), int(started)).alive():
            cgroups.kill(f"{CGROUP}/{name}")
            cgroups.remove(f"{CGROUP}/{name}")


def _metadata(name: str) -> dict[str, str]:
    return {"name": name, "namespace": NAMESPACE}
