"""A daemon's log on standard output: of a FIFO that the daemon takes for its log file, or of a
daemon in the foreground.

    python3 logs.py                       prints what is written into SOCKET
    python3 logs.py -- COMMAND [WORD...]  runs it and prints what it says; ends with its status
                                          (128 + n if signal n ended it), hands it every signal
                                          and reaps what it leaves behind
    python3 logs.py --node DAEMON -- COMMAND [WORD...]
                                          likewise for the daemons of a worker or login node, which
                                          share one output: slurmd or sackd, as DAEMON says, sshd,
                                          SSSD and the keeper

- SOCKET: the FIFO, for example /var/log/slurm/slurmctld.log. Made if it is not there, its folder
  too; one that is there is kept, because the daemon may have it open.
- LOG_FORMAT: `json` (one object a line, the default) or `text` (what the daemon wrote).
- LOG_BRIEF: with `yes` a line that bears a time, and so is in the daemon's log file, too, is left
  out unless it is an error.
- DAEMON: its name; else that of the command, or of the FIFO without its suffix.
- RECENT: a file that keeps the last errors, for who wants to know why something failed
  (default: SOCKET with `.recent` after it; empty for none, as for a command).

The object has `time` (RFC 3339), `daemon`, `level` (fatal, error, warning, info, verbose, debug,
debug2 ...) and `message`, and where the line names them `job`, `array` (12_3), `step` (12.batch)
and `node` (a hostlist). `jobs` is there when it names several.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import select
import signal
import socket
import stat
import sys
import threading
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LONGEST = 1 << 16  # a line that is longer comes in pieces
UNFINISHED = 1.0  # seconds after which a line without an end is taken as it is
GATHERED = 0.25  # seconds in which lines are gathered, to be printed at once
RECENT_SIZE = 1 << 16
F_SETPIPE_SZ = 1031  # fcntl has it by name from Python 3.10 on

HANDED_ON = {
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
}
NOT_STARTED = 127
GRAVE = ("fatal", "error")

LINE = re.compile(
    r"^(?:\[(?P<time>\d{4}-\d\d-\d\dT[^\]]+)\] ?)?"
    r"(?:\[(?P<step>\d+\.(?:\w+|\d+\+\d+))\] )?"
    r"(?:(?P<level>fatal|error|warning|info|verbose|debug\d?): )?"
)
JOB = re.compile(r"\b(?:JobId|JobID|job_id|jobid)[= ]?(\d+)(_\d+)?(?:\+\d+)?(?:\((\d+)\))?")
PLAIN_JOB = re.compile(r"\b[Jj]ob (\d+)\b")
STEP = re.compile(r"\bStepId=(\d+)(?:_\d+)?(?:\+\d+)?(?:\(\d+\))?\.(\w+)")
HOSTS = r"(?P<hosts>[A-Za-z0-9][\w.-]*(?:\[[\d,-]+\][\w.-]*)?(?:,[A-Za-z][\w.-]*(?:\[[\d,-]+\])?)*)"
NAMED_NODE = re.compile(r"\b(?:NodeName|NodeList|node_list|nodelist)=" + HOSTS)
SPOKEN_NODE = re.compile(
    r'\b[Nn]odes?[: ]"?' + HOSTS + r'"?(?:$|[,:]? (?:now|not|is|has|returned|state|reason|to'
    r"|unexpectedly|rebooted|registered|appears|configuration|responding|down|RPC|with|on|in)\b)"
)
NOT_NODES = frozenset({"not", "is", "has", "to", "with", "in", "on", "state", "configuration"})
SSSD = re.compile(
    r"^(?:\((?P<day>\d{4}-\d\d-\d\d) +(?P<hour>\d+)(?P<rest>:\d\d:\d\d)[\d:]*\): )?"
    r"\[(?P<part>\S+)\] \[\w+\] \((?P<mask>0x[0-9a-f]+)\): "
)
SSSD_LEVELS = {0x10: "fatal", 0x20: "error", 0x40: "error", 0x80: "warning"}
SSSD_DEBUG = 0x400  # this mask and those above it, but for that of what is always said
SSSD_ALWAYS = 0x3F7C0


def parsed(line: str, daemon: str, now: datetime) -> dict[str, object]:
    """What a line of Slurm's log says, by name."""
    head = LINE.match(line)
    assert head is not None  # all of it is optional
    message = line[head.end() :]
    found: dict[str, object] = {
        "time": moment(head["time"], now).isoformat(timespec="milliseconds"),
        "daemon": daemon,
        "level": head["level"] or "info",
        "message": message,
    }
    step = head["step"] or next((f"{job}.{part}" for job, part in STEP.findall(message)), None)
    found.update(jobs_in(message, step))
    if step:
        found["step"] = step
    node = node_in(message)
    if node:
        found["node"] = node
    return found


def parsed_sssd(head: re.Match[str], message: str, now: datetime) -> dict[str, object]:
    mask = int(head["mask"], 16)
    detail = SSSD_DEBUG <= mask < SSSD_ALWAYS
    stamp = f"{head['day']}T{head['hour']:>02}{head['rest']}" if head["day"] else None
    return {
        "time": moment(stamp, now).isoformat(timespec="milliseconds"),
        "daemon": "sssd",
        "level": SSSD_LEVELS.get(mask, "debug" if detail else "info"),
        "message": f"{head['part']}: {message}",
    }


def told_elsewhere(line: str) -> bool:
    """Whether a line is in the daemon's log file, too, and can be left out."""
    head = LINE.match(line)
    return bool(head and head["time"] and head["level"] not in GRAVE)


class Daemon:
    """One daemon's lines."""

    def __init__(self, name: str) -> None:
        self.name = name

    def parsed(self, line: str, now: datetime) -> dict[str, object]:
        # In the foreground Slurm's daemons begin each line with their name.
        return parsed(line.removeprefix(f"{self.name}: "), self.name, now)


class Node:
    """The lines of several daemons; each is known by how it begins one, and sshd by nothing."""

    def __init__(self, daemon: str, *, sshd: bool = True) -> None:
        self.daemon = daemon  # Slurm's
        self.nameless = "sshd" if sshd else daemon
        self.last = self.nameless

    def parsed(self, line: str, now: datetime) -> dict[str, object]:
        sssd = SSSD.match(line)
        if sssd:
            self.last = "sssd"
            return parsed_sssd(sssd, line[sssd.end() :], now)
        if not line[:1].isspace():  # such a line goes on with the one before
            self.last = self.speaker(line)
        return parsed(line.removeprefix(f"{self.last}: "), self.last, now)

    def speaker(self, line: str) -> str:
        names = ("keeper", self.daemon)
        named = next((name for name in names if line.startswith(f"{name}: ")), None)
        head = LINE.match(line)
        return named or (self.daemon if head and head["time"] else self.nameless)


def jobs_in(message: str, step: str | None) -> dict[str, object]:
    matches = JOB.findall(message)
    numbers = [int(real or number) for number, _, real in matches]
    if step:
        numbers.insert(0, int(step.partition(".")[0]))
    numbers += [int(number) for number in PLAIN_JOB.findall(message)]
    jobs = list(dict.fromkeys(numbers))
    found: dict[str, object] = {"job": jobs[0]} if jobs else {}
    if len(jobs) > 1:
        found["jobs"] = jobs
    tasks = [number + task for number, task, _ in matches if task]
    if tasks:
        found["array"] = tasks[0]
    return found


def node_in(message: str) -> str | None:
    for pattern in (NAMED_NODE, SPOKEN_NODE):
        match = pattern.search(message)
        if match and match["hosts"] not in NOT_NODES:
            return match["hosts"]
    return None


def moment(text: str | None, now: datetime) -> datetime:
    """The time of a line; Slurm gives the container's own, mostly without its zone."""
    if text is None:
        return now
    try:
        return datetime.fromisoformat(text).astimezone(timezone.utc)
    except ValueError:
        return now


def make_fifo(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not stat.S_ISFIFO(path.stat().st_mode):
        path.unlink()  # a daemon that was here before us made an ordinary file
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path)
    with contextlib.suppress(PermissionError):
        path.chmod(0o777)


def batches(fifo: int, told_to_stop: int) -> Iterator[list[bytes]]:
    """Lines as they come, without their ends, none longer than LONGEST."""
    rest = b""
    while True:
        wait = UNFINISHED if rest else None
        ready, _, _ = select.select([fifo, told_to_stop], [], [], wait)
        if fifo in ready:
            time.sleep(GATHERED)  # a busy daemon would wake us, and who reads us, for every line
            *lines, rest = (rest + os.read(fifo, LONGEST)).split(b"\n")
            if len(rest) >= LONGEST:
                lines, rest = [*lines, rest], b""
            yield [piece for line in lines for piece in cut(line)]
            continue  # what was written before the end is printed, too
        yield [rest] if rest else []
        rest = b""
        if ready:
            return


def cut(line: bytes) -> Iterator[bytes]:
    for start in range(0, len(line), LONGEST):
        yield line[start : start + LONGEST]


def open_fifo(path: Path) -> int:
    """Open it for reading and writing: writers never wait for a reader, and there always is one."""
    make_fifo(path)
    fifo = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    with contextlib.suppress(OSError):
        fcntl.fcntl(fifo, F_SETPIPE_SZ, 1 << 20)  # a slow reader of ours must not stop the daemon
    return fifo


def stop_signals() -> int:
    """A file that can be read from once TERM or INT came."""
    woken, waker = socket.socketpair()
    woken.settimeout(0)
    waker.settimeout(0)
    signal.set_wakeup_fd(waker.detach())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    return woken.detach()


class Recent:
    """The last errors of a daemon in a file of limited size."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def add(self, line: str) -> None:
        if self.path is None:
            return
        with contextlib.suppress(OSError):  # it must not keep the log from going out
            full = self.path.exists() and self.path.stat().st_size > RECENT_SIZE
            with self.path.open("w" if full else "a", encoding="utf-8") as file:
                file.write(line + "\n")


class Printer:
    """Lines of a daemon, as they are wanted."""

    def __init__(self, source: Daemon | Node, recent: Recent) -> None:
        self.source = source
        self.recent = recent
        self.text = os.environ.get("LOG_FORMAT", "json") == "text"
        self.brief = os.environ.get("LOG_BRIEF") == "yes"

    def show(self, batches: Iterable[list[bytes]]) -> None:
        for lines in batches:
            now = datetime.now(timezone.utc)
            for line in (raw.decode(errors="replace").rstrip("\r") for raw in lines):
                if not (self.brief and told_elsewhere(line)):
                    self.show_line(line, now)
            sys.stdout.flush()

    def show_line(self, line: str, now: datetime) -> None:
        said = self.source.parsed(line, now)
        if said["level"] in GRAVE:
            self.recent.add(line)
        print(line if self.text else json.dumps(said))


class Child:
    """A command that speaks into a pipe, and the signals that come for it."""

    def __init__(self, argv: Sequence[str]) -> None:
        # Blocked before it starts and taken by `attend`, no signal is lost in between.
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDED_ON | {signal.SIGCHLD})
        # The writing end stays open here: the end of the command ends the reading, not the pipe's.
        self.said, writing = os.pipe()
        self.ended, self.end = os.pipe()
        self.pid = os.posix_spawnp(
            argv[0],
            list(argv),
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_DUP2, writing, 2)],
            setsigmask=[],
            setsigdef=[signal.SIGPIPE],  # Python ignores it
        )

    def attend(self) -> None:
        """Hand signals on until it ends."""
        while not self.has_ended():
            number = signal.sigwait(HANDED_ON | {signal.SIGCHLD})
            if number != signal.SIGCHLD:
                os.kill(self.pid, number)
        os.write(self.end, b".")

    def has_ended(self) -> bool:
        """Reaps all others that ended meanwhile."""
        while found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if found.si_pid == self.pid:
                return True
            os.waitpid(found.si_pid, 0)
        return False

    def status(self) -> int:
        """As a shell gives it."""
        _, status = os.waitpid(self.pid, 0)
        return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def named(daemon: str) -> Daemon:
    return Daemon(os.environ.get("DAEMON") or daemon)


def follow(argv: Sequence[str], source: Daemon | Node) -> int:
    try:
        child = Child(argv)
    except OSError as error:
        print(f"{argv[0]} cannot be started: {error.strerror}", file=sys.stderr)
        return NOT_STARTED
    threading.Thread(target=child.attend, daemon=True).start()
    kept = os.environ.get("RECENT")
    printer = Printer(source, Recent(Path(kept) if kept else None))
    printer.show(batches(child.said, child.ended))
    return child.status()


def read_fifo() -> None:
    path = Path(os.environ.get("SOCKET", "/var/log/slurm/slurmctld.log"))
    kept = os.environ.get("RECENT", f"{path}.recent")
    printer = Printer(named(path.stem), Recent(Path(kept) if kept else None))
    told_to_stop = stop_signals()
    printer.show(batches(open_fifo(path), told_to_stop))


def main(words: Sequence[str]) -> int:
    if not words:
        read_fifo()
        return 0
    node = words[1:2] if words[0] == "--node" else []
    dashes, *argv = list(words[2:] if node else words) or [""]
    if dashes != "--" or not argv:
        print(__doc__, file=sys.stderr)
        return 2
    sshd = any(Path(word).name == "sshd" for word in argv)
    return follow(argv, Node(*node, sshd=sshd) if node else named(Path(argv[0]).name))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
