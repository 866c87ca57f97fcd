"""The way to slurmrestd that counts, before a server that is not slurmrestd."""

import asyncio
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import aiohttp
import pytest

from bench.workers.counting import Call, counting, tally

LARGE = b"HTTP/1.1 500 is only what this body says\n" * 50_000


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        same = "update_time" in self.path
        body = b"" if same else LARGE
        self.send_response(HTTPStatus.NOT_MODIFIED if same else HTTPStatus.OK)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        yield serving.server_port
        serving.shutdown()
        thread.join()


async def ask(port: int) -> None:
    connector = aiohttp.TCPConnector(limit=1)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", connector=connector) as session:
        for path in ("/slurm/v0.0.45/nodes/", "/slurm/v0.0.45/nodes/?update_time=7"):
            async with session.get(path) as answer:
                assert await answer.read() in (LARGE, b"")


def test_every_call_is_counted_once_and_its_answer_passed_on(server: int) -> None:
    with counting(server) as proxy:
        asyncio.run(ask(proxy.port))
        assert proxy.calls == [Call("GET /nodes/", 200), Call("GET /nodes/", 304)]
        assert tally(proxy.calls) == {"GET /nodes/ 200": 1, "GET /nodes/ 304": 1}
