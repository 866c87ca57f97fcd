"""A real slurmctld and slurmrestd for tests, from the Slurm image, on ports of 127.0.0.1.

No slurmd: nodes only exist. slurm_accounting.py puts a slurmdbd beside them.
"""

import json
import secrets
import socket
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from windlass.local.errors import LocalError
from windlass.local.waiting import wait_for
from windlass.testing.contained import WAIT, Contained, serving
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

SLURMCTLD: Final = serving("slurmctld", "slurmctld -D")
# It refuses to run as SlurmUser.
SLURMRESTD: Final = """
SLURM_JWT=daemon setpriv --reuid=65534 --regid=65534 --clear-groups \\
  slurmrestd -a rest_auth/jwt -s {plugins} 127.0.0.1:{port} unix:/var/log/slurmrestd.sock \\
  > /var/log/slurmrestd.log 2>&1 &
"""


@dataclass(frozen=True, slots=True)
class Besides:
    """What a Slurm has besides slurmctld and slurmrestd."""

    conf: str = ""
    """More lines of slurm.conf."""
    files: Mapping[str, str] = field(default_factory=dict)
    """More files of /etc/slurm."""
    script: str = ""
    """Shell that starts more daemons, before slurmctld."""
    plugins: str = "openapi/slurmctld,openapi/util"
    """The halves of the REST API."""


@dataclass(slots=True)
class RealSlurm:
    """One Slurm; `folder` is an empty folder that keeps its configuration, keys and logs."""

    image_root: Path
    folder: Path
    besides: Besides = field(default_factory=Besides)
    slurmctld_port: int = 0
    slurmrestd_port: int = 0
    contained: Contained = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.contained = Contained(self.image_root, self.folder, "Slurm")

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
        return self.contained.logs

    def start(self, within: float = 30) -> None:
        """Return once both daemons answer."""
        self.slurmctld_port, self.slurmrestd_port = free_ports(2)
        self._write_files()
        rest = SLURMRESTD.format(plugins=self.besides.plugins, port=self.slurmrestd_port)
        script = self.besides.script + SLURMCTLD + rest + WAIT
        etc = self.folder / "etc"
        self.contained.start(script, {"etc/slurm": etc, "var/log": self.logs})
        try:
            wait_for(self._answers, "Slurm answers", within=within)
        except LocalError as error:
            self.stop()
            raise LocalError(f"{error}\n{self.last_words()}") from error

    def stop(self) -> None:
        self.contained.stop()

    def scontrol(self, *words: str) -> str:
        """Run scontrol as root beside the daemons."""
        return self.inside("scontrol", *words)

    def rest_slurmctld(self) -> None:
        """Kill slurmctld as a crash would; it stays away until it is woken."""
        self.contained.rest("slurmctld")

    def wake_slurmctld(self, within: float = 30) -> None:
        """Start it again on the state it saved, and return once it answers."""
        self.contained.wake("slurmctld")
        wait_for(self._answers, "slurmctld is back", within=within)

    def inside(self, *words: str) -> str:
        """Run a program as root beside the daemons."""
        return self.contained.inside(*words)

    def token(self, user: str = "root", seconds: int = 3600) -> str:
        """A JSON web token that this Slurm takes."""
        answer = self.scontrol("token", f"username={user}", f"lifespan={seconds}")
        return answer.strip().removeprefix("SLURM_JWT=")

    def last_words(self) -> str:
        """The ends of the logs, for the person who reads a failure."""
        return self.contained.last_words()

    def _answers(self) -> bool:
        self.contained.check()
        try:
            request = urllib.request.Request(f"{self.url}/slurm/v0.0.45/ping/")  # noqa: S310
            request.add_header("X-SLURM-USER-TOKEN", self.token())
            with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
                pings = json.load(answer)["pings"]
        except (OSError, LocalError):
            return False
        return any(ping["responding"] for ping in pings)

    def _write_files(self) -> None:
        etc = self.folder / "etc"
        for folder in (etc, self.logs):
            folder.mkdir(parents=True)
        self.logs.chmod(0o777)  # slurmrestd makes its socket there, as nobody
        host = socket.gethostname().partition(".")[0]  # slurmctld only starts where it belongs
        conf = CONF.format(host=host, slurmctld_port=self.slurmctld_port)
        (etc / "slurm.conf").write_text(conf + self.besides.conf)
        for key in (etc / "slurm.key", self.jwt_key):
            key.touch(mode=0o600)
            key.write_bytes(secrets.token_bytes(1024))
        for name, text in self.besides.files.items():
            (etc / name).touch(mode=0o600)
            (etc / name).write_text(text)
