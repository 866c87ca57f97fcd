"""Programs that outlive us: started once, recognised later, never started twice."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from windlass.local.layout import fingerprint
from windlass.local.process import Identity, identify
from windlass.local.waiting import wait_for


class Mark(msgspec.Struct, frozen=True):
    """What is left on disk of a started program."""

    pid: int
    started: int
    command: str


# The shell enters the cgroup before the program exists, so no process of ours is ever outside it.
_ENTER = 'echo $$ > "$0" && exec "$@"'


@dataclass(frozen=True, slots=True)
class Daemon:
    """One program with its log and the mark that we know it by."""

    name: str
    argv: tuple[str, ...]
    mark: Path
    log: Path
    cgroup_entry: Path
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> str:
        environment = [f"{key}={value}" for key, value in sorted(self.env.items())]
        return fingerprint(*self.argv, *environment)

    def running(self) -> Identity | None:
        """The process, if it runs and was started with these very arguments."""
        mark = read_mark(self.mark)
        if mark is None or mark.command != self.command:
            return None
        process = Identity(mark.pid, mark.started)
        return process if process.alive() else None

    def start(self) -> IO[bytes]:
        """Start the program anew and return its standard input, which it may be waiting on."""
        stop(self.mark)
        for folder in (self.mark.parent, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _ENTER, str(self.cgroup_entry), *self.argv],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={"PATH": _PATH, **self.env},
                start_new_session=True,
            )
        found = identify(process.pid)
        if found is not None:
            mark = Mark(found.pid, found.started, self.command)
            self.mark.write_bytes(msgspec.json.encode(mark))
        process.returncode = 0  # it is meant to outlive us: nobody waits for it
        assert process.stdin is not None
        return process.stdin


_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def read_mark(path: Path) -> Mark | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Mark)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def stop(mark_file: Path) -> None:
    """End what the mark names, if that very process still runs, and wait until it is gone."""
    process = alive(mark_file)
    if process is not None:
        process.kill()
        wait_for(lambda: not process.alive(), f"process {process.pid} ends", within=10, every=0.01)


def alive(mark_file: Path) -> Identity | None:
    mark = read_mark(mark_file)
    if mark is None:
        return None
    process = Identity(mark.pid, mark.started)
    return process if process.alive() else None
