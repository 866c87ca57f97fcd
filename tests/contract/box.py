"""Programs of the Slurm image, each run on configuration files of its own."""

import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windlass.local.making import CONTAINED
from windlass.testing.ports import free_ports

HOST = socket.gethostname().partition(".")[0]
BASE = f"""\
ClusterName=conf
SlurmctldHost={HOST}(127.0.0.1)
SlurmUser=root
StateSaveLocation=/var/lib/slurm/slurmctld
CommunicationParameters=NoCtldInAddrAny
AuthType=auth/slurm
CredType=cred/slurm
ProctrackType=proctrack/linuxproc
"""

# $1 the image's root, $2 a folder; what runs ends with us, and its mounts with it.
ENTER = """
mount -t tmpfs tmpfs "$2/memory"
mkdir "$2/memory/upper" "$2/memory/work" "$2/memory/root"
layers=lowerdir=$1,upperdir=$2/memory/upper,workdir=$2/memory/work
mount -t overlay overlay -o "$layers" "$2/memory/root"
cd "$2/memory/root"
echo "127.0.0.1 localhost $(hostname)" > etc/hosts
mount -t proc proc proc
mount --rbind /dev dev
mkdir -p etc/slurm
mount --bind "$2/etc" etc/slurm
exec chroot . bash -c "$SCRIPT"
"""
READ_SLURM_CONF = "scontrol show hostnames ok 2>&1"
READ_EACH_CASE = """
for case in /etc/slurm/case*; do
  echo "=$(SLURM_CONF=$case scontrol show hostnames ok 2>&1 | tail -1)"
done
"""
READ_CGROUP_CONF = f"slurmd -D -N {HOST} 2>&1"
READ_GRES_CONF = f"slurmd -G -N {HOST} 2>&1"
READ_SLURMDBD_CONF = "slurmdbd -D 2>&1"
ASK_SLURMCTLD = """
slurmctld -D > /tmp/log 2>&1 &
up() { scontrol ping 2> /dev/null | grep -q UP; }
until up || ! kill -0 $! 2> /dev/null; do sleep 0.1; done
if up; then echo UP; scontrol show config; scontrol -o show partitions; scontrol show topology; fi
cat /tmp/log
"""


@dataclass(slots=True)
class Box:
    """Programs of the Slurm image, each run with an /etc/slurm of its own."""

    root: Path
    folder: Path
    runs: int = field(default=0)

    def run(self, script: str, files: Mapping[str, str]) -> str:
        self.runs += 1
        folder = self.folder / str(self.runs)
        for name in ("etc", "memory"):
            (folder / name).mkdir(parents=True)
        for name, text in {"slurm.conf": BASE, "slurm.key": "k" * 64, **files}.items():
            file = folder / "etc" / name
            file.touch(mode=0o600)
            file.write_bytes(text.encode())
        enter = ("env", f"SCRIPT={script}", "sh", "-ec", ENTER, "enter", self.root, folder)
        done = subprocess.run([*CONTAINED, *enter], capture_output=True, timeout=90, check=False)
        return (done.stdout + done.stderr).decode(errors="replace")

    def slurmctld(self, conf: str, **files: str) -> str:
        """Start slurmctld and return what it says of itself, or why it would not start."""
        (port,) = free_ports(1)
        whole = f"{BASE}SlurmctldPort={port}\n{conf}"
        return self.run(ASK_SLURMCTLD, {"slurm.conf": whole, **files})

    def accepted(self, confs: Sequence[str]) -> list[bool]:
        """For each text added to a good slurm.conf, whether Slurm commands still start."""
        files = {f"case{number:04}": f"{BASE}{conf}" for number, conf in enumerate(confs)}
        answer = self.run(READ_EACH_CASE, files)
        return [line == "=ok" for line in answer.splitlines() if line.startswith("=")]
