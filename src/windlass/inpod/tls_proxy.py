"""HTTPS before slurmrestd: ends TLS, and hands the bytes on to a port of the same pod.

    python3 tls_proxy.py LISTEN_PORT TARGET_PORT [LISTEN_PORT TARGET_PORT]... FOLDER

FOLDER has tls.crt and tls.key. When they change, new connections get the new certificate and old
ones go on; a pair that does not fit together is reported and the last good one stays in use.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import ssl
import sys
from pathlib import Path

CHECKED_EVERY = 5.0
CHUNK = 1 << 16
HANDSHAKE = 15.0


def say(words: str) -> None:
    print(f"tls_proxy: {words}", flush=True)


class Certificate:
    """The pair of files, and the TLS settings that hold for new connections."""

    def __init__(self, folder: Path) -> None:
        self.chain, self.key = folder / "tls.crt", folder / "tls.key"
        self.seen = self.content()
        self.current = self.loaded()
        # One listener for good: each new connection takes the settings that hold then.
        self.context = self.loaded()
        self.context.sni_callback = self.choose

    def content(self) -> tuple[bytes, bytes]:
        return self.chain.read_bytes(), self.key.read_bytes()

    def loaded(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.chain, self.key)
        return context

    def choose(self, connection: ssl.SSLObject, _name: str | None, _context: object) -> None:
        connection.context = self.current

    def refresh(self) -> None:
        """Take over files that changed."""
        try:
            content = self.content()
            if content == self.seen:
                return
            self.seen = content
            self.current = self.loaded()
        except (OSError, ssl.SSLError) as error:
            say(f"the new certificate is not usable, the old one stays: {error}")
        else:
            say("new connections get the new certificate")


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes until one side has no more."""
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
    if writer.can_write_eof():
        with contextlib.suppress(OSError):
            writer.write_eof()


async def serve_one(client: tuple[asyncio.StreamReader, asyncio.StreamWriter], target: int) -> None:
    reader, writer = client
    try:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", target)
    except OSError as error:
        say(f"port {target} of the pod does not answer: {error.strerror}")
        return
    try:
        there = asyncio.ensure_future(carry(reader, inner_writer))
        await carry(inner_reader, writer)
        there.cancel()
        await asyncio.gather(there, return_exceptions=True)
    finally:
        inner_writer.close()


async def refreshing(certificate: Certificate) -> None:
    while True:
        await asyncio.sleep(CHECKED_EVERY)
        certificate.refresh()


async def listening(listen: int, target: int, context: ssl.SSLContext) -> asyncio.AbstractServer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve_one((reader, writer), target)
        finally:
            writer.close()

    return await asyncio.start_server(
        answer, None, listen, ssl=context, ssl_handshake_timeout=HANDSHAKE
    )


async def serve(ways: list[tuple[int, int]], folder: Path) -> None:
    certificate = Certificate(folder)
    servers = [await listening(*way, certificate.context) for way in ways]
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    loop.add_signal_handler(signal.SIGHUP, certificate.refresh)
    say(f"HTTPS on port {', '.join(str(listen) for listen, _ in ways)}")
    refresh = asyncio.ensure_future(refreshing(certificate))
    await stopped.wait()
    refresh.cancel()
    for server in servers:
        server.close()


def main() -> int:
    *words, folder = sys.argv[1:]
    ports = [int(word) for word in words]
    asyncio.run(serve(list(zip(ports[::2], ports[1::2])), Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
