"""Programs of another root file system, run for a test and gone with it.

They run in namespaces of their own over a root file system in memory: when this process ends,
even by SIGKILL, the kernel ends them and nothing is left mounted. The network is the machine's.
"""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from windlass.local.errors import LocalError
from windlass.local.making import CONTAINED
from windlass.local.masters import tail
from windlass.local.process import children, run

# $1 the root, $2 the folder in which memory is mounted, then pairs of a folder and its place.
ENTER: Final = """
mount -t tmpfs tmpfs "$2"
mkdir "$2/upper" "$2/work" "$2/root"
layers=lowerdir=$1,upperdir=$2/upper,workdir=$2/work
mount -t overlay overlay -o "$layers" "$2/root"
cd "$2/root"
shift 2
echo "127.0.0.1 localhost $(hostname)" > etc/hosts
mount -t proc proc proc
mount --rbind /dev dev
while [ $# -gt 0 ]; do
  mkdir -p "./$2"
  mount --bind "$1" "./$2"
  shift 2
done
exec chroot . bash -c "$SERVE"
"""


@dataclass(slots=True)
class Contained:
    """A shell script and what it starts; `folder` is an empty folder for logs and the like."""

    root: Path
    folder: Path
    name: str
    """Of the whole, for people."""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    def start(self, script: str, binds: Mapping[str, Path]) -> None:
        """Run `script` under bash; `binds` are folders of ours that it sees, by place."""
        for name in ("log", "memory"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        pairs = [str(word) for place, ours in binds.items() for word in (ours, place)]
        enter = ("env", f"SERVE={script}", "sh", "-ec", ENTER, "enter")
        with (self.logs / "start.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*CONTAINED, *enter, self.root, self.folder / "memory", *pairs],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def stop(self) -> None:
        if self._process is not None:
            # A program that has changed its user no longer dies with its parent.
            for first in children(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(first, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(10)
            self._process.kill()
            self._process.wait()
            self._process = None

    def check(self) -> None:
        """Raise if it has ended by itself."""
        assert self._process is not None
        if self._process.poll() is not None:
            raise LocalError(f"{self.name} ended with {self._process.returncode}")

    def inside(self, *words: str) -> str:
        """Run a program as root beside it."""
        return run([*self.entering(), *words])

    def entering(self) -> list[str]:
        """The words before those of a program that is to run beside it."""
        first = None if self._process is None else next(iter(children(self._process.pid)), None)
        if first is None:
            raise LocalError(f"{self.name} is not running")
        return ["nsenter", f"--target={first}", "--mount", "--pid", "--root", "--wd=/"]

    def rest(self, daemon: str) -> None:
        """Kill one daemon as a crash would; a script made with `serving` then waits for `wake`, and
        this returns when it does."""
        self.inside("touch", f"/run/{daemon}.resting")
        self.inside("sh", "-c", f"kill -KILL $(cat /run/{daemon}.pid)")
        asleep = f"until test -e /run/{daemon}.asleep; do sleep 0.02; done"
        self.inside("timeout", "30", "sh", "-c", asleep)

    def wake(self, daemon: str) -> None:
        self.inside("rm", f"/run/{daemon}.resting")

    def last_words(self) -> str:
        """The ends of the logs, for the person who reads a failure."""
        logs = sorted(self.logs.glob("*.log"))
        return "\n".join(f"--- {log.name}\n{tail(log, 20)}" for log in logs)


def serving(daemon: str, command: str) -> str:
    """Shell that keeps a daemon in the background: it ends with it, unless that was put to rest."""
    return f"""
while {command} >> /var/log/{daemon}.log 2>&1; test -e /run/{daemon}.resting; do
  touch /run/{daemon}.asleep
  while test -e /run/{daemon}.resting; do sleep 0.05; done
  rm /run/{daemon}.asleep
done &
"""


WAIT: Final = "\nwait -n\n"
"""The first daemon that ends takes the others with it."""
