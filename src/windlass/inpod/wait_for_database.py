"""Waits until a MySQL or MariaDB server answers, and says why not.

    python3 wait_for_database.py HOST PORT

- PATIENCE: seconds of the first attempt (default 15), after which it ends with status 1 and its
  last words are in MESSAGE, where Kubernetes shows them on the pod. It is then started again.
- MARKER: a file that outlives the attempt; from the second one on PATIENCE is 15 minutes, so that
  Kubernetes forgets its growing pauses between starts.
- MESSAGE: the file for the last words (default /dev/termination-log).
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

PAUSE = 1.0
TIMEOUT = 5.0
LATER_PATIENCE = 15 * 60.0
PROTOCOL = 10
ERROR = 0xFF
ERROR_HEAD = 3  # the marker and a number of two bytes


class NoAnswer(Exception):
    """The server is not ready for slurmdbd."""


def greeting(host: str, port: int) -> str:
    """The version that the server greets with."""
    try:
        with socket.create_connection((host, port), TIMEOUT) as connection:
            packet = read_packet(connection)
    except socket.gaierror as error:
        raise NoAnswer(f"the name {host} does not resolve: {error.strerror}") from error
    except OSError as error:
        raise NoAnswer(f"{host}:{port} does not answer: {error.strerror or error}") from error
    if packet[:1] == bytes([ERROR]):
        raise NoAnswer(f"{host}:{port} refuses: {packet[ERROR_HEAD:].decode(errors='replace')}")
    if packet[:1] != bytes([PROTOCOL]):
        raise NoAnswer(f"{host}:{port} is neither MySQL nor MariaDB")
    return packet[1:].partition(b"\0")[0].decode(errors="replace")


def read_packet(connection: socket.socket) -> bytes:
    """The first packet: three bytes of length, one of number, then as many as it says."""
    head = read(connection, 4)
    return read(connection, int.from_bytes(head[:3], "little"))


def read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(min(size - len(data), 4096))
        if not more:
            raise OSError("the connection was closed before a greeting")
        data += more
    return data


def wait(host: str, port: int, patience: float) -> str:
    """The server's version; NoAnswer with the last reason when patience is over."""
    until, said = time.monotonic() + patience, ""
    while True:
        try:
            return greeting(host, port)
        except NoAnswer as error:
            if str(error) != said:
                said = str(error)
                print(f"waiting for the database: {said}", flush=True)
            if time.monotonic() >= until:
                raise
        time.sleep(PAUSE)


def patience(marker: Path) -> float:
    """How long this attempt lasts; the first leaves the marker for the next."""
    if marker.exists():
        return LATER_PATIENCE
    marker.touch()
    return float(os.environ.get("PATIENCE", "15"))


def main() -> int:
    host, port = sys.argv[1], int(sys.argv[2])
    message = Path(os.environ.get("MESSAGE", "/dev/termination-log"))
    try:
        version = wait(host, port, patience(Path(os.environ["MARKER"])))
    except NoAnswer as error:
        message.write_text(str(error))
        return 1
    print(f"the database answers: {version}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
