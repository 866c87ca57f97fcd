"""The first process of a container with a Slurm daemon, in the place of systemd.

    python3 keeper.py [--restart] [--follow FILE]... -- COMMAND [WORD...]
                      [--also COMMAND [WORD...]]...

The first command is the daemon. It is given a NOTIFY_SOCKET, as systemd gives one, and the process
that it names there (`MAINPID=`) takes its place: on `scontrol reconfigure` Slurm's daemons start a
new process, hand over to it and end. Run them with `--systemd`, or they do not say so.

- The container ends with the daemon and with its exit status (128 + n if signal n ended it).
- With `--restart` a daemon that ends by itself is started again, later and later if it keeps
  ending, and the container lives until it is told to stop: the jobs of a slurmd live in it.
- With `--follow` the daemon is sent HUP, which has it start a new process of itself, when FILE
  comes, goes or is replaced. It is not sent one that is not up yet: that would end it.
- A command after `--also` is kept running beside the daemon in the same way. It never ends the
  container.
- TERM and INT stop the daemon and then the others. HUP, USR1 and USR2 go to the daemon.
- Zombies are reaped, whoever left them.

The sockets are made below $KEEPER_DIR, or else below the first of /run, /tmp and /dev/shm that can
be written to.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Ancillary = Sequence[tuple[int, int, bytes]]

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
LOOK = 1.0  # seconds between looks at the files that are followed
GOOD_LIFE = 60.0  # whoever lived this long is started again at once
PATIENCE = 5.0  # for the others to stop, once the daemon has
STOPPING = (signal.SIGTERM, signal.SIGINT)
PASSED_ON = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
PR_SET_CHILD_SUBREAPER = 36
CREDENTIALS = struct.Struct("3i")  # process, user, group, as the kernel vouches for them
ANCILLARY = socket.CMSG_SPACE(CREDENTIALS.size) + socket.CMSG_SPACE(64)
NOT_STARTED = 127


class Service:
    """A command that is kept running, and the process that it is at the moment."""

    def __init__(self, argv: Sequence[str], path: Path) -> None:
        self.argv = argv
        self.name = Path(argv[0]).name
        self.pid: int | None = None
        self.status = 0
        self.ready = False
        self.started = 0.0
        self.pause = 0.0
        self.due = 0.0
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind(str(path))
        path.chmod(0o777)  # the command may have taken another user

    def start(self, now: float) -> None:
        self.started, self.ready = now, False
        try:
            self.pid = os.posix_spawnp(
                self.argv[0],
                list(self.argv),
                {**os.environ, "NOTIFY_SOCKET": str(self.path)},
                setsigmask=[],
                setsigdef=[*STOPPING, *PASSED_ON, signal.SIGCHLD, signal.SIGPIPE],
            )
        except OSError as error:
            say(f"{self.name} cannot be started: {error.strerror}")
            self.ended(NOT_STARTED, now)

    def ended(self, status: int, now: float) -> None:
        """Take note of its end, and of when it may start again."""
        self.pid, self.status = None, status
        if now - self.started >= GOOD_LIFE:
            self.pause = 0.0
        self.due = now + self.pause
        self.pause = min(max(2 * self.pause, FIRST_PAUSE), LONGEST_PAUSE)

    def listen(self) -> None:
        """Read what it says of itself."""
        with contextlib.suppress(BlockingIOError):
            while True:
                message, extra, _, _ = self.socket.recvmsg(65536, ANCILLARY)
                if self.trusts(sender(extra)):
                    for line in message.decode(errors="replace").splitlines():
                        self.hear(line)
                close_barrier(extra)

    def trusts(self, user: int | None) -> bool:
        """Whether this user may speak for the service; users with jobs in the container may not."""
        known = (0, os.geteuid(), None if self.pid is None else owner(self.pid))
        return user is not None and user in known

    def hear(self, line: str) -> None:
        key, _, value = line.partition("=")
        if key == "MAINPID" and value.isdigit() and owner(int(value)) is not None:
            if int(value) != self.pid:
                say(f"{self.name} goes on as process {value}")
            self.pid = int(value)
        elif (key, value) in (("READY", "1"), ("RELOADING", "1"), ("STOPPING", "1")):
            say(f"{self.name} is {key.lower()}")
            self.ready = self.ready or key == "READY"

    def send(self, number: int) -> None:
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):  # its end is about to be reaped
                os.kill(self.pid, number)


class Files:
    """Files that somebody else replaces."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self.seen = self.look()
        self.due = time.monotonic() + LOOK

    def look(self) -> list[tuple[int, int, int] | None]:
        return [identity(path) for path in self.paths]

    def next_look(self) -> float | None:
        return self.due if self.paths else None

    def changed(self, now: float) -> bool:
        """Whether they are not what they were, as often as it is time to look."""
        if now < self.due:
            return False
        self.due = now + LOOK
        before, self.seen = self.seen, self.look()
        return before != self.seen


class Keeper:
    """The daemon, what runs beside it, and the signals that come for them."""

    def __init__(self, services: Sequence[Service], files: Files, *, restart: bool) -> None:
        self.daemon, *self.others = services
        self.services = services
        self.files = files
        self.outdated = False
        self.restart = restart
        self.stopping = False
        self.told_to_stop: int | None = None
        self.signals: list[int] = []
        self.woken, self.waker = socket.socketpair()
        self.woken.settimeout(0)
        self.waker.settimeout(0)

    def catch_signals(self) -> None:
        """From now on a signal ends a `wait` and is seen by who asks for it."""
        signal.set_wakeup_fd(self.waker.fileno(), warn_on_full_buffer=False)
        for number in (*STOPPING, *PASSED_ON):
            signal.signal(number, lambda received, _: self.signals.append(received))
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> int:
        for service in self.services:
            service.start(time.monotonic())
        while self.daemon.pid is not None or (self.restart and not self.stopping):
            self.wait(self.next_deed())
            self.pass_signals_on()
            self.reap()
            self.start_again()
            self.follow()
        self.stop_others()
        return self.daemon.status

    def wait(self, until: float | None) -> None:
        timeout = None if until is None else max(0.0, until - time.monotonic())
        sockets = [service.socket for service in self.services]
        select.select([self.woken, *sockets], [], [], timeout)
        with contextlib.suppress(BlockingIOError):
            self.woken.recv(4096)
        for service in self.services:
            service.listen()

    def pass_signals_on(self) -> None:
        while self.signals:
            number = self.signals.pop(0)
            if number in STOPPING:
                self.stopping = True
                self.told_to_stop = None
            else:
                self.daemon.send(number)
        self.stop_daemon()

    def stop_daemon(self) -> None:
        """Also whoever the daemon handed over to after it had been told to stop."""
        if self.stopping and self.daemon.pid != self.told_to_stop:
            self.told_to_stop = self.daemon.pid
            self.daemon.send(signal.SIGTERM)

    def reap(self) -> None:
        for pid in ended_children():
            for service in self.services:
                service.listen()  # it may have named its successor, and is trusted while it is here
            status = bury(pid)
            for service in self.services:
                if service.pid == pid:
                    say(f"{service.name} ended with status {status}")
                    service.ended(status, time.monotonic())

    def next_deed(self) -> float | None:
        starts = [service.due for service in self.resting()]
        look = self.files.next_look()
        return min(starts if look is None else [*starts, look], default=None)

    def follow(self) -> None:
        """Have the daemon read what is followed again; one that comes up later does so anyway."""
        self.outdated |= self.files.changed(time.monotonic())
        if self.outdated and self.daemon.ready and self.daemon.pid is not None:
            say(f"{self.daemon.name} is told of new files")
            self.outdated = False
            self.daemon.send(signal.SIGHUP)

    def start_again(self) -> None:
        now = time.monotonic()
        for service in self.resting():
            if service.due <= now:
                service.start(now)

    def resting(self) -> list[Service]:
        """Who is to be started again."""
        kept = self.services if self.restart else self.others
        return [service for service in kept if service.pid is None and not self.stopping]

    def stop_others(self) -> None:
        self.stopping = True
        deadline = time.monotonic() + PATIENCE
        for service in self.others:
            service.send(signal.SIGTERM)
        while any(service.pid for service in self.others) and time.monotonic() < deadline:
            self.wait(deadline)
            self.reap()


def sender(extra: Ancillary) -> int | None:
    """The user who sent a message."""
    for _, kind, data in extra:
        if kind == socket.SCM_CREDENTIALS:
            user: int = CREDENTIALS.unpack(data)[1]
            return user
    return None


def close_barrier(extra: Ancillary) -> None:
    """Answer `BARRIER=1`: who sent a file with a message waits, 5 s long, until it is closed."""
    for _, kind, data in extra:
        if kind == socket.SCM_RIGHTS:
            files = array.array("i")
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
            for file in files:
                os.close(file)


def ended_children() -> Iterator[int]:
    """Every process of ours that has ended; the next one comes once this one is buried."""
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            yield ended.si_pid


def bury(pid: int) -> int:
    """The status of a process that has ended, as a shell gives it."""
    _, status = os.waitpid(pid, 0)
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def identity(path: str) -> tuple[int, int, int] | None:
    """What is another if a file has been replaced or written to."""
    try:
        found = os.stat(path)  # noqa: PTH116 - the kubelet's links are followed
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def owner(pid: int) -> int | None:
    """The user that a process runs as, if there is that process."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except FileNotFoundError:
        return None


def adopt_orphans() -> None:
    """Be the parent of processes whose parent ended, as process 1 is without asking."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def place() -> Path:
    for folder in (os.environ.get("KEEPER_DIR"), "/run", "/tmp", "/dev/shm"):  # noqa: S108
        if folder and os.access(folder, os.W_OK):
            made = Path(tempfile.mkdtemp(prefix="keeper-", dir=folder))
            made.chmod(0o711)
            return made
    raise SystemExit("keeper: there is no folder to make a socket in; set KEEPER_DIR")


def commands(words: Sequence[str]) -> list[list[str]]:
    """Split a command line at each `--also`."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == "--also":
            found.append([])
        else:
            found[-1].append(word)
    return found


def say(text: str) -> None:
    print(f"keeper: {text}", file=sys.stderr, flush=True)


def options(words: Sequence[str]) -> tuple[bool, list[str], list[str]] | None:
    """Whether to restart, what to follow, and the words after `--`."""
    restart = words[:1] == ["--restart"]
    rest, followed = list(words[1:] if restart else words), []
    while rest[:1] == ["--follow"] and len(rest) > 1:
        followed.append(rest[1])
        rest = rest[2:]
    return (restart, followed, rest[1:]) if rest[:1] == ["--"] else None


def main(words: Sequence[str]) -> int:
    given = options(words)
    restart, followed, rest = given or (False, [], [])
    argvs = commands(rest)
    if not all(argvs):
        print(__doc__, file=sys.stderr)
        return 2
    folder = place()
    try:
        services = [Service(argv, folder / f"notify-{n}") for n, argv in enumerate(argvs)]
        keeper = Keeper(services, Files(followed), restart=restart)
        adopt_orphans()
        keeper.catch_signals()
        return keeper.run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
