"""A daemon that behaves as Slurm's do under systemd; it says on standard output what happens.

HUP: a new process takes its place, which is said to NOTIFY_SOCKET, and the old one ends.
TERM: ends with the status in its first argument. USR1, USR2: says so.
With the argument "late", TERM comes in the middle of a hand-over, which goes on.

Signals are waited for, not handled: a handler would run in the middle of a print.
"""

import os
import signal
import socket
import subprocess
import sys
import time

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
HANDS_OVER = signal.SIGTERM if "late" in sys.argv else signal.SIGHUP


def tell(text: str) -> None:
    os.write(1, f"{text}\n".encode())  # print refuses to be interrupted by itself


def notify(text: str, files: tuple[int, ...] = ()) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as talking:
        talking.connect(os.environ["NOTIFY_SOCKET"])
        socket.send_fds(talking, [text.encode()], files)


def hand_over() -> None:
    new = subprocess.Popen([sys.executable, *sys.argv, "new"], stdout=subprocess.PIPE)
    assert new.stdout is not None
    tell(new.stdout.readline().decode().strip())
    notify(f"READY=1\nMAINPID={new.pid}")
    reading, writing = os.pipe()
    notify("BARRIER=1", (writing,))
    os.close(writing)
    began = time.monotonic()
    os.read(reading, 1)  # ends when nobody has the other end any more
    tell(f"barrier closed {time.monotonic() - began < 2}")
    os._exit(0)


signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
tell(f"up {os.getpid()}")
if sys.argv[-1] == "new":
    os.dup2(2, 1)  # whoever started us reads no more
else:
    notify("READY=1")
while True:
    received = signal.sigwait(SIGNALS)
    if received == HANDS_OVER and sys.argv[-1] != "new":
        hand_over()
    elif received == signal.SIGTERM:
        sys.exit(int(sys.argv[1]))
    else:
        tell(signal.Signals(received).name.removeprefix("SIG"))
