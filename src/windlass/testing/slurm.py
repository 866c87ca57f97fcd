"""A real slurmctld and slurmrestd for tests, from the Slurm image, on ports of 127.0.0.1.

They run in namespaces of their own over a root file system in memory: when this process ends,
even by SIGKILL, the kernel ends them and nothing is left mounted. No slurmd: nodes only exist.
"""

import json
import secrets
import socket
import subprocess
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from windlass.local.errors import LocalError
from windlass.local.making import CONTAINED
from windlass.local.masters import tail
from windlass.local.process import children, run
from windlass.local.waiting import wait_for
from windlass.testing.ports import free_ports

CONF: Final = """\
ClusterName=contract
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={slurmctld_port}
SlurmUser=root
StateSaveLocation=/var/lib/slurm/slurmctld
CommunicationParameters=NoCtldInAddrAny
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/linuxproc
MailProg=/bin/true
SlurmctldPidFile=/run/slurmctld.pid
MaxNodeCount=20000
SchedulerParameters=sched_min_interval=1000,batch_sched_delay=0,sched_interval=1
PartitionName=all Nodes=ALL Default=YES State=UP
"""

# $1 the image's root, $2 the folder of this Slurm, $3 the port of slurmrestd.
ENTER: Final = """
mount -t tmpfs tmpfs "$2/memory"
mkdir "$2/memory/upper" "$2/memory/work" "$2/memory/root"
layers=lowerdir=$1,upperdir=$2/memory/upper,workdir=$2/memory/work
mount -t overlay overlay -o "$layers" "$2/memory/root"
cd "$2/memory/root"
echo "127.0.0.1 localhost $(hostname)" > etc/hosts
mount -t proc proc proc
mount --rbind /dev dev
mount --bind "$2/etc" etc/slurm
mount --bind "$2/log" var/log/slurm
exec chroot . bash -c "$SERVE" serve "$3"
"""

# The first daemon that ends takes the other one with it, but for a slurmctld that was told to rest.
# slurmrestd refuses to run as SlurmUser.
SERVE: Final = """
while slurmctld -D >> /var/log/slurm/slurmctld.log 2>&1; test -e /run/resting; do
  while test -e /run/resting; do sleep 0.05; done
done &
SLURM_JWT=daemon setpriv --reuid=65534 --regid=65534 --clear-groups \
  slurmrestd -a rest_auth/jwt -s openapi/slurmctld,openapi/util "127.0.0.1:$1" \
  unix:/var/log/slurm/slurmrestd.sock \
  > /var/log/slurm/slurmrestd.log 2>&1 &
wait -n
"""


@dataclass(slots=True)
class RealSlurm:
    """One Slurm; `folder` is an empty folder that keeps its configuration, keys and logs."""

    image_root: Path
    folder: Path
    slurmctld_port: int = 0
    slurmrestd_port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.slurmrestd_port}"

    @property
    def socket(self) -> Path:
        """slurmrestd listens here too."""
        return self.logs / "slurmrestd.sock"

    @property
    def jwt_key(self) -> Path:
        return self.folder / "etc" / "jwt_hs256.key"

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    def start(self, within: float = 30) -> None:
        """Return once both daemons answer."""
        self.slurmctld_port, self.slurmrestd_port = free_ports(2)
        self._write_files()
        enter = ("env", f"SERVE={SERVE}", "sh", "-ec", ENTER, "enter")
        where = (self.image_root, self.folder, str(self.slurmrestd_port))
        with (self.logs / "start.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*CONTAINED, *enter, *where],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            wait_for(self._answers, "Slurm answers", within=within)
        except LocalError as error:
            self.stop()
            raise LocalError(f"{error}\n{self.last_words()}") from error

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def scontrol(self, *words: str) -> str:
        """Run scontrol as root beside the daemons."""
        return self.inside("scontrol", *words)

    def rest_slurmctld(self) -> None:
        """Kill slurmctld as a crash would; it stays away until it is woken."""
        self.inside("touch", "/run/resting")
        self.inside("sh", "-c", "kill -KILL $(cat /run/slurmctld.pid)")

    def wake_slurmctld(self, within: float = 30) -> None:
        """Start it again on the state it saved, and return once it answers."""
        self.inside("rm", "/run/resting")
        wait_for(self._answers, "slurmctld is back", within=within)

    def inside(self, *words: str) -> str:
        """Run a program as root beside the daemons."""
        assert self._process is not None
        inside = next(iter(children(self._process.pid)), None)
        if inside is None:
            raise LocalError("Slurm is not running")
        enter = ("nsenter", f"--target={inside}", "--mount", "--pid", "--root", "--wd=/")
        return run([*enter, *words])

    def token(self, user: str = "root", seconds: int = 3600) -> str:
        """A JSON web token that this Slurm takes."""
        answer = self.scontrol("token", f"username={user}", f"lifespan={seconds}")
        return answer.strip().removeprefix("SLURM_JWT=")

    def last_words(self) -> str:
        """The ends of the logs, for the person who reads a failure."""
        logs = sorted(self.logs.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{tail(log, 20)}" for log in logs)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise LocalError(f"Slurm ended with {self._process.returncode}")
        try:
            request = urllib.request.Request(f"{self.url}/slurm/v0.0.45/ping/")  # noqa: S310
            request.add_header("X-SLURM-USER-TOKEN", self.token())
            with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
                pings = json.load(answer)["pings"]
        except (OSError, LocalError):
            return False
        return any(ping["responding"] for ping in pings)

    def _write_files(self) -> None:
        for name in ("etc", "log", "memory"):
            (self.folder / name).mkdir(parents=True)
        self.logs.chmod(0o777)  # slurmrestd makes its socket there, as nobody
        host = socket.gethostname().partition(".")[0]  # slurmctld only starts where it belongs
        conf = CONF.format(host=host, slurmctld_port=self.slurmctld_port)
        (self.folder / "etc" / "slurm.conf").write_text(conf)
        for key in (self.folder / "etc" / "slurm.key", self.jwt_key):
            key.touch(mode=0o600)
            key.write_bytes(secrets.token_bytes(1024))
