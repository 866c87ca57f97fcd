import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.unit.inpod.programs import running
from windlass.kube import issuing
from windlass.local.waiting import wait_for
from windlass.testing.ports import free_ports


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that answers each line with the same line, and ends when asked to."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def talk(connection: socket.socket) -> None:
            with connection, connection.makefile("rwb") as file:
                for line in file:
                    file.write(line)
                    file.flush()
                    if line == b"bye\n":
                        return

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def write_pair(folder: Path, name: str) -> issuing.Signer:
    """Another certificate in the folder; returns its authority."""
    now = datetime.now(UTC)
    authority = issuing.authority(name, now, timedelta(days=2))
    bearer = issuing.Bearer(name, names=("rest.slurm", "127.0.0.1"))
    leaf = issuing.issue(authority, bearer, now, timedelta(days=1))
    (folder / "tls.crt").write_bytes(leaf.certificate_pem)
    (folder / "tls.key").write_bytes(leaf.key_pem)
    return authority


@contextmanager
def proxy(target: int, folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    (port,) = free_ports(1)
    with running("tls_proxy", str(port), str(target), str(folder)) as process:
        assert process.stdout is not None
        assert "HTTPS" in process.stdout.readline()
        yield process, port


@contextmanager
def talking(
    port: int, trusted: issuing.Signer, name: str = "rest.slurm"
) -> Iterator[ssl.SSLSocket]:
    context = ssl.create_default_context(cadata=trusted.certificate_pem.decode())
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        context.wrap_socket(plain, server_hostname=name) as secure,
    ):
        yield secure


def said(connection: ssl.SSLSocket, line: bytes) -> bytes:
    connection.sendall(line)
    heard = b""
    while not heard.endswith(b"\n"):
        heard += connection.recv(4096)
    return heard


@pytest.mark.parametrize("name", ["rest.slurm", "127.0.0.1"])
def test_what_is_said_over_tls_reaches_the_target_and_comes_back(
    name: str, echo: int, tmp_path: Path
) -> None:
    authority = write_pair(tmp_path, "first")
    with proxy(echo, tmp_path) as (_, port), talking(port, authority, name) as connection:
        assert said(connection, b"x" * 300_000 + b"\n") == b"x" * 300_000 + b"\n"
        assert said(connection, b"bye\n") == b"bye\n"
        assert connection.recv(1) == b""


def test_a_new_certificate_is_shown_to_new_connections_while_old_ones_go_on(
    echo: int, tmp_path: Path
) -> None:
    first = write_pair(tmp_path, "first")
    with proxy(echo, tmp_path) as (process, port), talking(port, first) as old:
        second = write_pair(tmp_path, "second")
        process.send_signal(signal.SIGHUP)
        assert process.stdout is not None
        assert "new certificate" in process.stdout.readline()
        for name in ("rest.slurm", "127.0.0.1"):
            with talking(port, second, name) as new:
                assert said(new, b"new\n") == b"new\n"
        assert said(old, b"old\n") == b"old\n"
        with pytest.raises(ssl.SSLCertVerificationError), talking(port, first):
            pass


def test_a_pair_that_does_not_fit_is_reported_and_the_old_one_stays(
    echo: int, tmp_path: Path
) -> None:
    first = write_pair(tmp_path, "first")
    with proxy(echo, tmp_path) as (process, port):
        key = (tmp_path / "tls.key").read_bytes()
        write_pair(tmp_path, "second")
        (tmp_path / "tls.key").write_bytes(key)
        process.send_signal(signal.SIGHUP)
        assert process.stdout is not None
        assert "the old one stays" in process.stdout.readline()
        with talking(port, first) as connection:
            assert said(connection, b"still here\n") == b"still here\n"


def test_a_silent_target_ends_the_connection_and_is_reported(tmp_path: Path) -> None:
    authority = write_pair(tmp_path, "first")
    (nobody,) = free_ports(1)
    with proxy(nobody, tmp_path) as (process, port):
        with talking(port, authority) as connection:
            assert connection.recv(1) == b""
        assert process.stdout is not None
        assert "does not answer" in process.stdout.readline()


def test_several_ports_lead_to_several_targets(echo: int, tmp_path: Path) -> None:
    authority = write_pair(tmp_path, "first")
    first, second, nobody = free_ports(3)
    ways = [str(port) for port in (first, nobody, second, echo)]
    with running("tls_proxy", *ways, str(tmp_path)) as process:
        assert process.stdout is not None
        assert f"HTTPS on port {first}, {second}" in process.stdout.readline()
        with talking(second, authority) as connection:
            assert said(connection, b"here\n") == b"here\n"
        with talking(first, authority) as connection:
            assert connection.recv(1) == b""


def test_it_stops_when_told_to(echo: int, tmp_path: Path) -> None:
    write_pair(tmp_path, "first")
    with proxy(echo, tmp_path) as (process, _):
        process.terminate()
        wait_for(lambda: process.poll() is not None, "the proxy stops", within=10)
        assert process.returncode == 0
