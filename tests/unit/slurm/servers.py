"""Small servers that misbehave on purpose, on the loopback address or a unix socket."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

Script = Callable[[int, int], bytes | None]
"""From the number of the connection, and of the request on it, to an answer; None hangs up."""


@dataclass(slots=True)
class Peer:
    """A server that answers by a script."""

    script: Script
    port: int = 0
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection, count = self.connections, 0
        self.connections += 1
        try:
            while True:
                self.requests.append(await self._request(reader))
                answer = self.script(connection, count)
                count += 1
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
                if b"Connection: Close" in answer:
                    break
        except (EOFError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                return head + await reader.readexactly(int(value))
        return head


@asynccontextmanager
async def tcp_peer(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    peer = Peer(script)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    async with server:
        yield peer


@asynccontextmanager
async def unix_peer(script: Script, path: Path) -> AsyncIterator[Peer]:
    peer = Peer(script)
    async with await asyncio.start_unix_server(peer.serve, path):
        yield peer


def http(status: str, body: bytes, kind: str = "application/json", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(body)}\r\nContent-Type: {kind}\r\n\r\n"
    return head.encode() + body
