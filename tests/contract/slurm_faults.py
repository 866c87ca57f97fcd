"""A proxy on loopback that does to slurmrestd's answers what networks and proxies do to them.

It works on bytes: slurmrestd's own breaches of HTTP pass through it unmended.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

END: Final = b"\r\n\r\n"


@dataclass(slots=True)
class Exchange:
    """One request, and the two sides between which it goes on or does not."""

    request: bytes
    client: asyncio.StreamReader
    to_client: asyncio.StreamWriter
    server_port: int
    forwarded: list[str]

    async def answer(self) -> tuple[bytes, bool]:
        """What slurmrestd says, byte for byte, and whether it then hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server_port)
        try:
            self.forwarded.append(first_line(self.request))
            writer.write(self.request)
            head = await reader.readuntil(END)
            if b"connection: close" in head.lower():
                return head + await reader.read(-1), True
            return head + await reader.readexactly(length_in(head)), False
        finally:
            writer.close()

    async def say(self, data: bytes) -> None:
        self.to_client.write(data)
        await self.to_client.drain()


Fault = Callable[[Exchange], Awaitable[bool]]
"""Does one request's part, and answers whether the client's connection lives on."""


def first_line(request: bytes) -> str:
    """`GET /slurm/v0.0.45/nodes/?update_time=1`"""
    return request.partition(b" HTTP/")[0].decode()


def length_in(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return 0


# --- faults --------------------------------------------------------------------------------


async def nothing(exchange: Exchange) -> bool:
    data, closes = await exchange.answer()
    await exchange.say(data)
    return not closes


async def cut_before(_exchange: Exchange) -> bool:
    """slurmrestd never sees the request."""
    return False


async def cut_after(exchange: Exchange) -> bool:
    """slurmrestd carries the request out; its answer is lost."""
    await exchange.answer()
    return False


async def half_sent(exchange: Exchange) -> bool:
    data, _ = await exchange.answer()
    await exchange.say(data[: len(data) // 2])
    return False


async def dribbled(exchange: Exchange) -> bool:
    """Many small pieces, most of them in the middle of something."""
    data, closes = await exchange.answer()
    piece = max(7, len(data) // 200)
    for start in range(0, len(data), piece):
        await exchange.say(data[start : start + piece])
        await asyncio.sleep(0.001)
    return not closes


async def silence(exchange: Exchange) -> bool:
    """Nothing at all, until the client has enough."""
    await exchange.client.read(-1)
    return False


def refused(status: str) -> Fault:
    """The proxy's own answer; slurmrestd never sees the request."""

    async def fault(exchange: Exchange) -> bool:
        body = b"<html>injected</html>"
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}"
        await exchange.say(head.encode() + END + body)
        return True

    return fault


def rewritten(change: Callable[[bytes], bytes]) -> Fault:
    """The answer with another body."""

    async def fault(exchange: Exchange) -> bool:
        data, closes = await exchange.answer()
        head, _, body = data.partition(END)
        body = change(body)
        lines = [each for each in head.split(b"\r\n") if b"content-length" not in each.lower()]
        lines.append(b"Content-Length: %d" % len(body))
        await exchange.say(b"\r\n".join(lines) + END + body)
        return not closes

    return fault


# --- the proxy -----------------------------------------------------------------------------


@dataclass(slots=True)
class Proxy:
    server_port: int
    secure: bool = False
    port: int = 0
    faults: list[Fault] = field(default_factory=list)
    """One for each request to come."""
    afterwards: Fault = nothing
    """For all requests after those."""
    seen: list[str] = field(default_factory=list)
    """Every request that came: `GET /slurm/v0.0.45/ping/`."""
    forwarded: list[str] = field(default_factory=list)
    """Those of them that slurmrestd got."""

    _server: asyncio.Server = field(init=False)
    _serving: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://127.0.0.1:{self.port}"

    async def open(self, tls: ssl.SSLContext | None) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def shut(self) -> None:
        """Listen no more and cut every connection."""
        self._server.close()
        for task in tuple(self._serving):
            task.cancel()
        if self._serving:
            await asyncio.wait(tuple(self._serving))
        for _ in range(3):  # connections end in the loop's next turns
            await asyncio.sleep(0)

    def next_fault(self) -> Fault:
        return self.faults.pop(0) if self.faults else self.afterwards

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        try:
            while await self._exchanged(client, to_client):
                pass
        except (EOFError, OSError, asyncio.CancelledError):
            pass  # the client may hang up at any time, and so may slurmrestd and the test
        finally:
            to_client.close()

    async def _exchanged(
        self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter
    ) -> bool:
        head = await client.readuntil(END)
        request = head + await client.readexactly(length_in(head))
        self.seen.append(first_line(request))
        exchange = Exchange(request, client, to_client, self.server_port, self.forwarded)
        return await self.next_fault()(exchange)


@asynccontextmanager
async def proxied(server_port: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[Proxy]:
    """A door to the slurmrestd at this port of 127.0.0.1; with `tls` it speaks HTTPS outside."""
    proxy = Proxy(server_port, secure=tls is not None)
    await proxy.open(tls)
    try:
        yield proxy
    finally:
        await proxy.shut()
