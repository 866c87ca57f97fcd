"""A slurmctld as its pod runs it: kept, its log read, its configuration followed."""

import hashlib
import hmac
import json
import secrets
import shutil
import socket
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windlass import inpod
from windlass.inpod.reload import conf_of, fingerprint
from windlass.local.errors import LocalError
from windlass.local.waiting import wait_for
from windlass.testing.contained import Contained
from windlass.testing.ports import free_ports

CONF = """\
ClusterName=kept
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=slurm
StateSaveLocation=/state
SlurmctldLogFile=/var/log/slurm/slurmctld.log
CommunicationParameters=NoCtldInAddrAny
SlurmctldParameters=enable_configless,reconfig_on_restart
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/linuxproc
MailProg=/bin/true
MaxNodeCount=100
PartitionName=all Nodes=ALL Default=YES State=UP
"""

# As the kubelet would: the init container to its end, then the sidecars, then slurmctld for ever.
SCRIPT = """
export TZ=UTC REPORT_FILE=/out/report.json REPORT_PORT={report_port}
install -d -o slurm -g slurm /run/slurmctld /var/log/slurm /etc/slurm /state
chown slurm:slurm /state /out
rm -rf /etc/slurm/* /var/log/slurm/*
as='setpriv --reuid=401 --regid=401 --clear-groups'
SOCKET=/var/log/slurm/slurmctld.log $as python3 /inpod/logs.py >> /out/lines.log 2>&1 &
$as python3 /inpod/reload.py init >> /out/reload.log 2>&1
$as python3 /inpod/reload.py watch >> /out/reload.log 2>&1 &
while true; do
  KEEPER_DIR=/tmp $as python3 /inpod/keeper.py -- slurmctld --systemd >> /out/keeper.log 2>&1
  echo "slurmctld ended with $?" >> /out/keeper.log
  sleep 0.2
done
"""


@dataclass(slots=True)
class KeptSlurm:
    root: Path
    folder: Path
    conf: str = ""
    """The slurm.conf that it starts with; add to it."""
    keys: dict[str, bytes] = field(default_factory=dict)
    report_port: int = 0
    contained: Contained = field(init=False, repr=False)
    published: int = 0

    def __post_init__(self) -> None:
        port, self.report_port = free_ports(2)
        host = socket.gethostname().partition(".")[0]
        self.conf = CONF.format(host=host, port=port)
        self.keys = {name: secrets.token_bytes(64) for name in ("slurm.key", "jwt.key")}
        self.contained = Contained(self.root, self.folder, "slurmctld")
        for name in ("candidate", "state"):
            (self.folder / name).mkdir(parents=True)

    def publish(self, files: Mapping[str, str]) -> str:
        """Change the files of the volume as the kubelet does; returns the candidate's name."""
        self.published += 1
        volume = self.folder / "candidate"
        contents = {**self.keys, **{name: text.encode() for name, text in files.items()}}
        version = volume / f"..{self.published}"
        version.mkdir()
        for name, data in contents.items():
            (version / name).write_bytes(data)
            if not (volume / name).is_symlink():
                (volume / name).symlink_to(f"..data/{name}")
        (volume / "..data_tmp").symlink_to(version.name)
        (volume / "..data_tmp").replace(volume / "..data")
        shutil.rmtree(volume / f"..{self.published - 1}", ignore_errors=True)
        return fingerprint(conf_of(contents))

    def publish_conf(self, more: str = "", **files: str) -> str:
        return self.publish({"slurm.conf": self.conf + more, **files})

    def start(self) -> None:
        binds = {
            "mnt/slurm": self.folder / "candidate",
            "state": self.folder / "state",
            "out": self.contained.logs,
            "inpod": Path(inpod.__file__).parent,
        }
        self.contained.start(SCRIPT.format(report_port=self.report_port), binds)

    def stop(self) -> None:
        self.contained.stop()

    def scontrol(self, *words: str) -> str:
        return self.contained.inside("scontrol", *words)

    def up(self) -> bool:
        try:
            return " is UP" in self.scontrol("ping")
        except LocalError:
            return False

    def report(self) -> Any:
        """Ask for the report as the operator does, and check that it is signed."""
        nonce = secrets.token_hex()
        url = f"http://127.0.0.1:{self.report_port}/report?nonce={nonce}"
        with urllib.request.urlopen(url, timeout=5) as answer:
            body = answer.read()
            signature = answer.headers["X-Windlass-Signature"]
        right = hmac.new(self.keys["jwt.key"], nonce.encode() + body, hashlib.sha256)
        assert signature == right.hexdigest()
        return json.loads(body)

    def wait_for_report(self, within: float = 15, **wanted: object) -> Any:
        """The first report that says this."""

        def fits() -> Any:
            try:
                report = self.report()
            except OSError:
                return None
            return report if wanted.items() <= report.items() else None

        return wait_for(fits, f"a report with {wanted}", within=within, every=0.05)

    def slurmctld(self) -> str:
        """The number of slurmctld's process."""
        return self.contained.inside("pgrep", "--oldest", "--full", "^slurmctld --").strip()
