import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.unit.inpod.programs import program
from windlass.inpod import wait_for_database
from windlass.testing.ports import free_ports


@contextmanager
def server(*answers: bytes | None) -> Iterator[int]:
    """A port that answers each connection in turn, and the last one for good."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            queue = list(answers)
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    answer = queue.pop(0) if len(queue) > 1 else queue[0]
                    if answer:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def packet(content: bytes) -> bytes:
    return len(content).to_bytes(3, "little") + b"\0" + content


HELLO = packet(b"\x0a11.8.3-MariaDB\0rest of the greeting")
BUSY = packet(b"\xff\x10\x04Too many connections")


def run(port: int, folder: Path, patience: str = "0") -> tuple[int, str, str]:
    """Status, what it printed, its last words."""
    message = folder / "message"
    env = {
        "PATH": "/usr/bin:/bin",
        "PATIENCE": patience,
        "MESSAGE": str(message),
        "MARKER": str(folder / "marker"),
    }
    ended = subprocess.run(
        [*program("wait_for_database"), "127.0.0.1", str(port)],
        env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert not ended.stderr
    return ended.returncode, ended.stdout, message.read_text() if message.exists() else ""


def test_it_ends_well_when_the_server_greets(tmp_path: Path) -> None:
    with server(HELLO) as port:
        assert run(port, tmp_path) == (0, "the database answers: 11.8.3-MariaDB\n", "")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (BUSY, "refuses: Too many connections"),
        (packet(b"HTTP/1.1 400"), "neither MySQL nor MariaDB"),
        (b"\x05", "closed before a greeting"),
        (None, "closed before a greeting"),
    ],
)
def test_its_last_words_say_what_is_wrong(answer: bytes | None, words: str, tmp_path: Path) -> None:
    with server(answer) as port:
        status, printed, message = run(port, tmp_path)
    assert status == 1
    assert words in message
    assert words in printed


def test_a_port_where_nobody_listens_is_named(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    status, _, message = run(port, tmp_path)
    assert status == 1
    assert message == f"127.0.0.1:{port} does not answer: Connection refused"


def test_it_waits_and_says_each_reason_once(tmp_path: Path) -> None:
    with server(BUSY, BUSY, None, HELLO) as port:
        status, printed, _ = run(port, tmp_path, patience="60")
    assert status == 0
    assert len(printed.splitlines()) == 3


def test_only_the_first_attempt_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATIENCE", "7")
    marker = tmp_path / "marker"
    attempts: list[Callable[[Path], float]] = [wait_for_database.patience] * 3
    assert [attempt(marker) for attempt in attempts] == [7.0, 900.0, 900.0]
