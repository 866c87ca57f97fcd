import ctypes
import http.client
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.unit.inpod.programs import running
from windlass.inpod import agent
from windlass.local.waiting import wait_for
from windlass.testing.ports import free_ports

TOKEN = {"X-SLURM-USER-TOKEN": "a.b.c"}


@dataclass
class Books:
    """In the place of libslurm."""

    failing: dict[int, int] = field(default_factory=dict)
    asked: list[tuple[int, int, bytes]] = field(default_factory=list)

    def end(self, job: int, status: int, token: bytes) -> None:
        self.asked.append((job, status, token))
        if job in self.failing:
            raise agent.Failed(self.failing[job], "Slurm says no")


@contextmanager
def serving(slurm: Books | None) -> Iterator[int]:
    with ThreadPoolExecutor(2) as pool, agent.Server(("127.0.0.1", 0), pool) as server:
        server.found = slurm  # type: ignore[assignment]
        server.fault = "libslurm is of another century"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def asked(
    port: int, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, TOKEN if headers is None else headers)
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def ends(port: int, *wanted: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    return asked(port, "POST", "/windlass/v1/ends", {"ends": list(wanted)}, headers)


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({}, 0),
        ({"exit_code": 0}, 0),
        ({"exit_code": 3}, 3 << 8),
        ({"exit_code": 255}, 255 << 8),
        ({"signal": 9}, 9),
        ({"out_of_memory": True}, 253),
    ],
)
def test_a_job_ends_as_it_is_told_to(how: dict[str, Any], status: int) -> None:
    books = Books()
    with serving(books) as port:
        assert ends(port, {"job": 7, **how}) == (200, {"ends": [{"job": 7}]})
    assert books.asked == [(7, status, b"a.b.c")]


def test_one_that_fails_is_told_of_and_the_others_end() -> None:
    books = Books({8: 2017})
    with serving(books) as port:
        _, found = ends(port, {"job": 7}, {"job": 8}, {"job": 9})
    wanted = [{"job": 7}, {"job": 8, "errno": 2017, "error": "Slurm says no"}, {"job": 9}]
    assert found == {"ends": wanted}


def test_slurmctld_is_bothered_once_by_a_token_it_does_not_take() -> None:
    books = Books({7: agent.AUTHENTICATION, 8: agent.AUTHENTICATION})
    with serving(books) as port:
        assert ends(port, {"job": 7}, {"job": 8})[0] == 401
    assert len(books.asked) == 1


def test_a_slurmctld_that_is_silent_is_not_waited_for_by_one_after_the_other() -> None:
    books = Books({8: 1800})
    with serving(books) as port:
        _, found = ends(port, {"job": 7}, {"job": 8}, {"job": 9})
    assert [each.get("errno") for each in found["ends"]] == [None, 1800, 1800]
    assert [job for job, _, _ in books.asked] == [7, 8]


def test_nobody_is_heard_without_a_token() -> None:
    books = Books()
    with serving(books) as port:
        assert ends(port, {"job": 7}, headers={})[0] == 401
        assert ends(port, {"job": 7}, headers={"X-SLURM-USER-TOKEN": " "})[0] == 401
    assert books.asked == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"no", 400),
        ([], 400),
        ({"ends": 7}, 400),
        ({"ends": [7]}, 400),
        ({"ends": [{}]}, 400),
        ({"ends": [{"job": 0}]}, 400),
        ({"ends": [{"job": True}]}, 400),
        ({"ends": [{"job": 7, "exit_code": 256}]}, 400),
        ({"ends": [{"job": 7, "exit_code": 1, "signal": 9}]}, 400),
        ({"ends": [{"job": 7, "signal": 0}]}, 400),
        ({"ends": [{"job": 7, "out_of_memory": False}]}, 400),
        ({"ends": [{"job": 7, "force": True}]}, 400),
        ({"ends": [{"job": 7}] * 1001}, 413),
    ],
)
def test_what_makes_no_sense_ends_nothing(body: object, status: int) -> None:
    books = Books()
    with serving(books) as port:
        found, said = asked(port, "POST", "/windlass/v1/ends", body)
    assert (found, books.asked) == (status, [])
    assert said["error"]


def test_what_is_too_long_is_not_read() -> None:
    long = {**TOKEN, "Content-Length": str(agent.MOST_BYTES + 1)}
    with serving(Books()) as port:
        assert asked(port, "POST", "/windlass/v1/ends", b"", long)[0] == 413


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/windlass/v2/ends")])
def test_there_is_nothing_elsewhere(method: str, path: str) -> None:
    with serving(Books()) as port:
        assert asked(port, method, path)[0] == 404


def test_it_says_what_it_can_and_what_it_cannot() -> None:
    with serving(Books()) as port:
        assert asked(port, "GET", "/healthz", headers={}) == (200, {"slurm": "26.05"})
    with serving(None) as port:
        words = {"error": "libslurm is of another century"}
        assert asked(port, "GET", "/healthz", headers={}) == (501, words)
        assert ends(port, {"job": 7}) == (501, words)


class OtherLibrary:
    """Of a release that is not known."""

    def slurm_api_version(self) -> int:
        return 44 << 16


def test_a_libslurm_that_is_not_known_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBSLURM", "/lib/libslurmfull.so")
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: OtherLibrary())
    with pytest.raises(agent.Unusable, match="interface 44, and only 45"):
        agent.load()


@pytest.mark.parametrize("file", ["/nowhere/libslurmfull.so", "libc.so.6"])
def test_without_libslurm_it_serves_and_says_so(file: str) -> None:
    (port,) = free_ports(1)
    with running("agent", f"127.0.0.1:{port}", env={"LIBSLURM": file}) as process:
        assert process.stderr is not None
        assert "no job can be ended" in process.stderr.readline()
        assert "listening" in process.stderr.readline()
        assert ends(port, {"job": 7})[0] == 501
        process.terminate()
        wait_for(lambda: process.poll() is not None, "the agent stops", within=10)
        assert process.returncode == 0
