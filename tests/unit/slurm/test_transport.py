"""The client against servers that do what slurmrestd, proxies and networks do."""

import asyncio
import json
import socket
import ssl
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.unit.slurm.servers import Peer, Script, http, tcp_peer, unix_peer
from windlass.local.pki import Authority, Subject
from windlass.slurm import requests
from windlass.slurm.client import Client, connect, negotiated
from windlass.slurm.errors import Absent, Busy, Refused, Unauthorized, Unavailable
from windlass.slurm.specs import NodeUpdate
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import READ_AHEAD, Address, HttpTransport
from windlass.slurm.versions import Version

PONG: Final = http("200 OK", b'{"pings": [{"hostname": "a", "responding": true}]}')
NO_JOB: Final = b'{"errors": [{"error_number": 2017, "error": "Invalid job id specified"}]}'
AS_OF: Final = {"set": True, "infinite": False, "number": 7}
CLOSE: Final = "Connection: Close\r\n"
# What slurmrestd 26.05 really sends for one request: two responses, and the end.
TWICE: Final = http("404 NOT FOUND", NO_JOB, more=CLOSE) + http(
    "404 NOT FOUND", b"Invalid job id specified", "text/plain", CLOSE
)

Scenario = Callable[[Client, Peer], Coroutine[Any, Any, None]]


def play(script: Script, scenario: Scenario, timeout: float = 5.0) -> Peer:
    async def main() -> Peer:
        async with (
            tcp_peer(script) as peer,
            HttpTransport(Address("127.0.0.1", peer.port), timeout) as http_,
        ):
            await scenario(Client(http_, StaticToken("t"), Version.V45), peer)
            return peer

    return asyncio.run(main())


def test_the_error_list_is_read_although_a_second_response_follows() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        for _ in range(3):
            with pytest.raises(Absent) as caught:
                await slurm.send(requests.job(1))
            assert caught.value.name == "ESLURM_INVALID_JOB_ID"

    assert play(lambda *_: TWICE, scenario).connections == 3


def test_a_good_connection_is_used_again() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        for _ in range(3):
            assert (await slurm.send(requests.ping()))[0].responding

    assert play(lambda *_: PONG, scenario).connections == 1


def test_bytes_behind_a_response_are_never_taken_for_the_next_one() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        await slurm.send(requests.ping())
        await asyncio.sleep(0.05)  # let the stray bytes arrive
        assert (await slurm.send(requests.ping()))[0].responding

    assert play(lambda *_: PONG + b"HTTP/1.1 500 STRAY\r\n\r\n", scenario).connections == 2


def test_a_read_survives_a_connection_that_was_closed_while_idle() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        await slurm.send(requests.ping())
        assert (await slurm.send(requests.ping()))[0].responding

    peer = play(lambda _connection, count: PONG if count == 0 else None, scenario)
    assert peer.connections == 2


def test_a_read_is_repeated_once_when_a_fresh_connection_breaks() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        assert (await slurm.send(requests.ping()))[0].responding

    peer = play(lambda connection, _count: PONG if connection == 1 else None, scenario)
    assert len(peer.requests) == 2


def test_a_read_is_repeated_no_more_than_once_however_many_connections_went_stale() -> None:
    async def scenario(slurm: Client, peer: Peer) -> None:
        await asyncio.gather(*(slurm.send(requests.ping()) for _ in range(8)))
        warm = len(peer.requests)
        with pytest.raises(Unavailable) as caught:
            await slurm.send(requests.nodes())
        assert caught.value.sent
        assert len(peer.requests) == warm + 2

    play(lambda connection, count: PONG if count == 0 and connection < 8 else None, scenario)


def test_a_write_is_never_sent_twice() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        await slurm.send(requests.ping())
        with pytest.raises(Unavailable) as caught:
            await slurm.send(requests.update_node("w", NodeUpdate(comment="x")))
        assert caught.value.sent

    peer = play(lambda _connection, count: PONG if count == 0 else None, scenario)
    assert len([each for each in peer.requests if each.startswith(b"POST")]) == 1


def test_a_get_that_changes_something_is_never_sent_twice() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        await slurm.send(requests.ping())
        with pytest.raises(Unavailable):
            await slurm.send(requests.reconfigure())

    peer = play(lambda _connection, count: PONG if count == 0 else None, scenario)
    assert len(peer.requests) == 2


@pytest.mark.parametrize(
    "answer",
    [
        None,
        PONG[:-10],
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000000000000000\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        http("200 OK", b"{half"),
        http("502 Bad Gateway", b"<html>", "text/html"),
        http("503 Service Unavailable", b"", "text/html"),
        http("503 Service Unavailable", b'["not", "slurm"]'),
    ],
    ids=[
        "nothing",
        "half",
        "no length",
        "a length beyond memory",
        "a length beyond numbers",
        "no http",
        "bad json",
        "bad gateway",
        "unavailable",
        "json",
    ],
)
def test_nonsense_on_a_fresh_connection_is_unavailable(answer: bytes | None) -> None:
    def script(_connection: int, count: int) -> bytes | None:
        return answer if count == 0 else None

    async def scenario(slurm: Client, _peer: Peer) -> None:
        with pytest.raises(Unavailable):
            await slurm.send(requests.ping())

    play(script, scenario, timeout=0.5)


def test_too_many_requests_is_busy_whatever_the_body_is() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        with pytest.raises(Busy):
            await slurm.send(requests.ping())

    play(lambda *_: http("429 Too Many Requests", b'"slow down"'), scenario)


def test_silence_is_unavailable_after_the_timeout() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        with pytest.raises(Unavailable, match="within") as caught:
            await slurm.send(requests.ping())
        assert caught.value.sent

    play(lambda *_: b"", scenario, timeout=0.1)


def test_a_connection_that_is_never_made_sends_nothing() -> None:
    async def main() -> None:
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            address = Address(*deaf.getsockname())
            # The first connection fills the only place; the next is not even begun.
            with socket.create_connection((address.host, address.port)):
                async with HttpTransport(address, timeout=0.2) as http_:
                    with pytest.raises(Unavailable, match="within") as caught:
                        await Client(http_, StaticToken("t"), Version.V45).send(requests.ping())
        assert not caught.value.sent

    asyncio.run(main())


def test_a_request_that_never_got_its_turn_was_not_sent() -> None:
    async def scenario(slurm: Client, peer: Peer) -> None:
        assert isinstance(slurm.transport, HttpTransport)
        busy = [asyncio.create_task(slurm.send(requests.ping())) for _ in range(16)]
        while len(peer.requests) < 16:
            await asyncio.sleep(0)
        slurm.transport.timeout = 0.05
        with pytest.raises(Unavailable, match="within") as caught:
            await slurm.send(requests.ping())
        assert not caught.value.sent
        assert len(peer.requests) == 16
        for task in busy:
            task.cancel()
        await asyncio.wait(busy)

    play(lambda *_: b"", scenario, timeout=30.0)


def test_nobody_at_the_port_is_unavailable_and_nothing_was_sent() -> None:
    async def scenario(_slurm: Client, peer: Peer) -> None:
        async with HttpTransport(Address("127.0.0.1", 1)) as http_:
            with pytest.raises(Unavailable, match="cannot reach") as caught:
                await Client(http_, StaticToken("t"), Version.V45).send(requests.ping())
            assert not caught.value.sent

    play(lambda *_: PONG, scenario)


def test_chunks_of_a_proxy_are_put_together() -> None:
    body = PONG.partition(b"\r\n\r\n")[2]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:7], body[7:]))
    head = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
    )

    async def scenario(slurm: Client, _peer: Peer) -> None:
        for _ in range(2):
            assert (await slurm.send(requests.ping()))[0].responding

    assert play(lambda *_: head + chunks + b"0\r\n\r\n", scenario).connections == 1


def test_the_token_goes_with_every_request() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        await slurm.send(requests.ping())
        await slurm.acting_with("other").send(requests.ping())

    sent = play(lambda *_: PONG, scenario).requests
    assert b"X-SLURM-USER-TOKEN: t\r\n" in sent[0]
    assert b"X-SLURM-USER-TOKEN: other\r\n" in sent[1]


def test_a_token_with_a_line_break_is_refused_before_it_is_sent() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        with pytest.raises(Unauthorized, match="line break"):
            await slurm.acting_with("a\r\nX-Evil: 1").send(requests.ping())

    assert play(lambda *_: PONG, scenario).requests == []


def test_many_requests_at_once_share_few_connections() -> None:
    async def scenario(slurm: Client, _peer: Peer) -> None:
        await asyncio.gather(*(slurm.send(requests.ping()) for _ in range(100)))

    assert play(lambda *_: PONG, scenario).connections <= 16


def test_a_cancelled_request_leaves_no_half_read_connection_behind() -> None:
    async def scenario(slurm: Client, peer: Peer) -> None:
        task = asyncio.create_task(slurm.send(requests.ping()))
        while not peer.requests:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert (await slurm.send(requests.ping()))[0].responding

    peer = play(lambda connection, _: b"" if connection == 0 else PONG, scenario)
    assert peer.connections == 2


# --- Addresses -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://slurmrestd", Address("slurmrestd", 6820)),
        ("http://10.0.0.1:80/", Address("10.0.0.1", 80)),
        ("https://slurm.example", Address("slurm.example", 443, secure=True)),
        ("unix:/run/slurmrestd.sock", Address("localhost", 0, path="/run/slurmrestd.sock")),
        ("http+unix://%2Frun%2Fs.sock", Address("localhost", 0, path="/run/s.sock")),
        ("http://[::1]:6820", Address("::1", 6820)),
    ],
)
def test_addresses(url: str, address: Address) -> None:
    assert Address.parse(url) == address


@pytest.mark.parametrize("url", ["slurmrestd:6820", "ftp://a", "http://", "http://a/slurm", ""])
def test_what_is_no_address_is_told_how_to_write_one(url: str) -> None:
    with pytest.raises(ValueError, match=r"write http://HOST:PORT|give only the scheme"):
        Address.parse(url)


def test_a_unix_socket(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "s.sock"
        async with unix_peer(lambda *_: PONG, path), connect(f"unix:{path}", "t") as slurm:
            assert (await slurm.send(requests.ping()))[0].responding

    asyncio.run(main())


def test_tls_with_a_private_authority(tmp_path: Path) -> None:
    authority = Authority(tmp_path, datetime.now(UTC))
    authority.ensure([Subject("server", "slurmrestd", names=("127.0.0.1",))])
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(authority.certificate("server"), tmp_path / "server.key")
    trusting = ssl.create_default_context(cafile=tmp_path / "ca.crt")

    async def main() -> None:
        async with tcp_peer(lambda *_: PONG, serving) as peer:
            url = f"https://127.0.0.1:{peer.port}"
            async with connect(url, "t", tls=trusting) as slurm:
                assert (await slurm.send(requests.ping()))[0].responding
            with pytest.raises(Unavailable, match="certificate"):
                async with connect(url, "t"):
                    pass

    asyncio.run(main())


# --- Negotiation ---------------------------------------------------------------------------


def test_the_newest_common_version_is_spoken() -> None:
    unknown = http("404 NOT FOUND", b"Unable to find requested URL", "text/plain", CLOSE)

    async def main() -> None:
        async with tcp_peer(lambda connection, _: PONG if connection == 2 else unknown) as peer:
            async with connect(f"http://127.0.0.1:{peer.port}", "t") as slurm:
                assert slurm.version is Version.V43
            assert b"/slurm/v0.0.43/ping/" in peer.requests[-1]

    asyncio.run(main())


def test_no_common_version_is_a_refusal_that_says_what_is_needed() -> None:
    unknown = http("404 NOT FOUND", b"Unable to find requested URL", "text/plain", CLOSE)

    async def scenario(slurm: Client, _peer: Peer) -> None:
        with pytest.raises(Refused, match=r"v0\.0\.45.*Slurm 24\.11"):
            await negotiated(slurm.transport, slurm.tokens)

    play(lambda *_: unknown, scenario)


def test_errors_of_negotiation_are_told_as_they_are() -> None:
    no = http("401 UNAUTHORIZED", b"Authentication failure", "text/plain", CLOSE)

    async def scenario(slurm: Client, _peer: Peer) -> None:
        with pytest.raises(Unauthorized):
            await negotiated(slurm.transport, slurm.tokens)

    play(lambda *_: no, scenario)


def test_a_body_of_many_pieces_is_read_whole_and_no_further() -> None:
    """Larger than what is read ahead; the next answer is on the same connection."""
    names = [f"node-{number:06}" for number in range(50_000)]
    body = json.dumps({"nodes": [{"name": name} for name in names], "last_update": AS_OF}).encode()
    assert len(body) > READ_AHEAD

    async def scenario(slurm: Client, _peer: Peer) -> None:
        for _ in range(2):
            listing = await slurm.send(requests.nodes())
            assert listing is not None
            assert [node.name for node in listing.items] == names

    assert play(lambda *_: http("200 OK", body), scenario).connections == 1
