"""Programs: run one to its end, or leave one running and recognise it later."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.local.errors import CommandFailed, LocalError

Line = Callable[[str], None]


def run(
    argv: Sequence[str | Path],
    *,
    text: str | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Run a program to its end and return what it printed to standard output."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            input=text,
            env=_merged(env),
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise LocalError(
            f"`{words[0]}` is not installed; `make up` installs what is missing"
        ) from error
    if done.returncode != 0:
        raise CommandFailed(words, done.returncode, done.stderr + done.stdout)
    return done.stdout


def run_lines(
    argv: Sequence[str | Path],
    line: Line,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> None:
    """Run a program to its end, handing every line it prints to `line` as it comes."""
    words = [str(word) for word in argv]
    printed: list[str] = []
    with subprocess.Popen(
        words,
        env=_merged(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for raw in process.stdout:
                printed.append(raw)
                line(raw.rstrip("\n"))
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise CommandFailed(words, process.returncode, "".join(printed))


def _merged(env: Mapping[str, str] | None) -> dict[str, str] | None:
    return None if env is None else {**os.environ, **env}  # noqa: TID251 - children inherit ours


@dataclass(frozen=True, slots=True)
class Identity:
    """A process and the tick it started at, so that a reused number is never mistaken for it."""

    pid: int
    started: int

    def alive(self) -> bool:
        return identify(self.pid) == self

    def kill(self) -> None:
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def identify(pid: int) -> Identity | None:
    """The identity of a running process; a zombie counts as gone once its last thread has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()  # the command name may hold spaces and brackets
    ended = fields[0] in "ZX" and int(fields[17]) <= 1
    return None if ended else Identity(pid, int(fields[19]))


def children(pid: int) -> list[int]:
    """The direct children of a process."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
