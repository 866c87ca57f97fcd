"""Metrics over HTTPS: who is told, and how often the API server is asked."""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

import aiohttp
import msgspec
import pytest
from cryptography import x509

from windlass.kube.bearers import KEPT, MOST, Bearers, Standing
from windlass.kube.errors import Unreachable
from windlass.kube.exposing import Endpoint, SecureMetrics
from windlass.kube.requests import Request

T = TypeVar("T")

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
PROMETHEUS = {"username": "prometheus", "uid": "7", "groups": ["scrapers"], "extra": {"a": ["b"]}}


class Server:
    """An API server that knows two tokens, of which one may GET /metrics."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.up = True

    async def send(self, request: Request[T]) -> T:
        if not self.up:
            raise Unreachable("no route")
        spec = msgspec.json.decode(request.body or b"")["spec"]
        self.asked.append((request.path, spec))
        if request.path == REVIEWS:
            users = {"good": PROMETHEUS, "weak": {"username": "weak"}}
            user = users.get(spec["token"])
            status: Any = {"authenticated": True, "user": user} if user else {}
        else:
            assert request.path == ACCESS
            status = {"allowed": spec["user"] == "prometheus"}
        found: T = msgspec.convert({"status": status}, request.expects)
        return found


class Known:
    def exposition(self) -> bytes:
        return b"windlass_up 1\n"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("token", "standing"),
    [
        ("good", Standing.ALLOWED),
        ("weak", Standing.FORBIDDEN),
        ("none", Standing.UNKNOWN),
    ],
)
def test_the_api_server_says_what_a_token_is_good_for(token: str, standing: Standing) -> None:
    found = asyncio.run(Bearers(Server(), Clock()).standing(token, "/metrics"))
    assert found is standing


def test_all_that_is_known_of_the_bearer_is_asked_about() -> None:
    server = Server()
    asyncio.run(Bearers(server, Clock()).standing("good", "/metrics"))
    assert server.asked[1] == (
        ACCESS,
        {
            "user": "prometheus",
            "uid": "7",
            "groups": ["scrapers"],
            "extra": {"a": ["b"]},
            "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        },
    )


def test_an_answer_is_kept_a_while_and_not_for_another_path() -> None:
    async def main() -> None:
        server, clock = Server(), Clock()
        bearers = Bearers(server, clock)
        for _ in range(3):
            await bearers.standing("good", "/metrics")
        assert len(server.asked) == 2
        await bearers.standing("good", "/other")
        assert len(server.asked) == 4
        clock.now += KEPT
        await bearers.standing("good", "/metrics")
        assert len(server.asked) == 6

    asyncio.run(main())


def test_a_flood_of_tokens_pushes_out_the_oldest_answers_only() -> None:
    async def main() -> None:
        server = Server()
        bearers = Bearers(server, Clock())
        await bearers.standing("good", "/metrics")
        for number in range(MOST):
            await bearers.standing(f"bad {number}", "/metrics")
        asked = len(server.asked)
        await bearers.standing(f"bad {MOST - 1}", "/metrics")
        assert len(server.asked) == asked
        await bearers.standing("good", "/metrics")
        assert len(server.asked) == asked + 2

    asyncio.run(main())


Scene = Callable[[aiohttp.ClientSession, str, Server], Coroutine[Any, Any, None]]


def play(scene: Scene) -> None:
    async def main() -> None:
        server = Server()
        bearers = Bearers(server, Clock())
        endpoint = Endpoint(0, ("localhost",), "127.0.0.1")
        served = SecureMetrics(Known(), bearers, endpoint, lambda: datetime.now(UTC))
        started = asyncio.Event()
        trusting = aiohttp.TCPConnector(ssl=False)
        async with asyncio.TaskGroup() as tasks, aiohttp.ClientSession(connector=trusting) as http:
            task = tasks.create_task(served.run(started.set))
            await started.wait()
            await scene(http, f"127.0.0.1:{served.port}", server)
            task.cancel()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (None, 401),
        ("Basic good", 401),
        ("Bearer ", 401),
        ("Bearer none", 401),
        ("Bearer weak", 403),
        ("Bearer good", 200),
        ("bearer  good", 200),
    ],
)
def test_only_who_may_get_metrics_is_told(authorization: str | None, status: int) -> None:
    async def scene(http: aiohttp.ClientSession, where: str, _: Server) -> None:
        headers = {"Authorization": authorization} if authorization else {}
        async with http.get(f"https://{where}/metrics", headers=headers) as answer:
            text = await answer.text()
        assert answer.status == status
        assert ("windlass_up 1" in text) == (status == 200)
        assert ("WWW-Authenticate" in answer.headers) == (status == 401)

    play(scene)


def test_nobody_is_told_while_the_api_server_is_silent() -> None:
    async def scene(http: aiohttp.ClientSession, where: str, server: Server) -> None:
        server.up = False
        headers = {"Authorization": "Bearer good"}
        async with http.get(f"https://{where}/metrics", headers=headers) as answer:
            assert answer.status == 503

    play(scene)


def test_plain_http_is_not_answered_and_health_is_not_here() -> None:
    async def scene(http: aiohttp.ClientSession, where: str, _: Server) -> None:
        with pytest.raises(aiohttp.ClientError):
            await http.get(f"http://{where}/metrics")
        async with http.get(f"https://{where}/healthz") as answer:
            assert answer.status == 404

    play(scene)


def test_the_certificate_names_the_pod() -> None:
    async def scene(_: aiohttp.ClientSession, where: str, __: Server) -> None:
        host, port = where.split(":")
        pem = await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)))
        shown = x509.load_pem_x509_certificate(pem.encode())
        names = shown.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["localhost"]

    play(scene)
