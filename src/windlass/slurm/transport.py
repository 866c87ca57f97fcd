"""The only file that speaks HTTP to slurmrestd: over TCP, TLS or a unix socket.

Its own small HTTP/1.1, because slurmrestd breaks it: an error comes as two whole responses to one
request, back to back, and the connection closes. A parser that reads on past the first body (such
as aiohttp's) calls that a bad message and throws the list of errors away. This one reads exactly
one response, keeps the connection only if nothing else was sent on it, and so sees every error.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Protocol, Self
from urllib.parse import unquote, urlsplit

from windlass.slurm.call import Response
from windlass.slurm.errors import Unavailable

CONTENT: Final = "application/json"
READ_AHEAD: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Message:
    """One HTTP request."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""
    safe: bool = False

    def encoded(self, host: str) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.body:
            lines.append(f"Content-Type: {CONTENT}")
        if self.body or self.method not in ("GET", "DELETE"):
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode() + self.body


class Transport(Protocol):
    """What the client needs; the fake Slurm is another one."""

    async def round_trip(self, message: Message) -> Response: ...

    async def close(self) -> None: ...


class Broken(Exception):
    """The connection ended or made no sense before a whole response was read."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where slurmrestd listens: `http://host:port`, `https://host:port` or `unix:/path`."""

    host: str
    port: int
    secure: bool = False
    path: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        parts = urlsplit(url)
        if parts.scheme in ("unix", "http+unix"):
            # http+unix://%2Frun%2Fslurmrestd.sock and unix:/run/slurmrestd.sock both are in use.
            return cls("localhost", 0, path=unquote(parts.netloc) + parts.path)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                f"{url!r} is no address of slurmrestd: write http://HOST:PORT,"
                " https://HOST:PORT or unix:/PATH"
            )
        if parts.path not in ("", "/"):
            raise ValueError(f"{url!r} has a path; give only the scheme, the host and the port")
        secure = parts.scheme == "https"
        return cls(parts.hostname, parts.port or (443 if secure else 6820), secure)

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"


@dataclass(slots=True)
class Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    idle_since: float = 0.0

    async def exchange(self, request: bytes) -> tuple[Response, bool]:
        """Send and read one response; also whether the connection can be used again."""
        self.writer.write(request)
        await self.writer.drain()
        status, headers = _head(await self.reader.readuntil(b"\r\n\r\n"))
        body = await self._body(status, headers)
        is_json = headers.get("content-type", "").partition(";")[0].strip() == CONTENT
        closes = headers.get("connection", "").lower() == "close"
        return Response(status, is_json, body), not closes

    async def _body(self, status: int, headers: Mapping[str, str]) -> bytes | bytearray:
        if status in (204, 304):
            return b""
        if "content-length" in headers:
            return await self._exactly(int(headers["content-length"]))
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunks()
        return await self.reader.read(-1)

    async def _exactly(self, length: int) -> bytearray:
        """Piece by piece into one buffer: the reader's own way would hold all of it twice, and
        10,000 nodes are 25 MB."""
        body, at = bytearray(length), 0
        while at < length:
            piece = await self.reader.read(length - at)
            if not piece:
                raise asyncio.IncompleteReadError(b"", length - at)
            body[at : at + len(piece)] = piece
            at += len(piece)
        return body

    async def _chunks(self) -> bytes:
        """slurmrestd sends none; a proxy before it may."""
        parts = []
        while size := int((await self.reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            parts.append(await self.reader.readexactly(size))
            await self.reader.readexactly(2)
        while await self.reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return b"".join(parts)

    def close(self) -> None:
        self.writer.close()


def _head(raw: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = raw.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1."):
        raise Broken(f"no HTTP response begins with {first[:60]!r}")
    fields = (line.partition(":") for line in lines if line)
    return int(words[1]), {name.strip().lower(): value.strip() for name, _, value in fields}


FAILURES: Final = (
    *(OSError, EOFError, asyncio.LimitOverrunError, Broken),
    *(ValueError, OverflowError, MemoryError),
)
"""The last three: a length or status that is no number, or a length that no machine has."""


@dataclass(slots=True)
class HttpTransport:
    """A pool of connections to one slurmrestd."""

    address: Address
    timeout: float = 60.0
    tls: ssl.SSLContext | None = None
    limit: int = 16
    keep_idle: float = 5.0
    """Seconds after which an unused connection is not trusted any more."""
    _idle: list[Connection] = field(default_factory=list, init=False)
    _places: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.limit)
        if self.address.secure and self.tls is None:
            self.tls = ssl.create_default_context()

    async def round_trip(self, message: Message) -> Response:
        """One response, within the timeout. A read is tried once more on a fresh connection."""
        request = message.encoded(self.address.host)
        sent = asyncio.Event()
        try:
            async with asyncio.timeout(self.timeout), self._places:
                return await self._tried(request, sent, safe=message.safe)
        except TimeoutError as error:
            told = f"no answer from {self.address} within {self.timeout:g} s"
            raise Unavailable(told, sent=sent.is_set()) from error

    async def _tried(self, request: bytes, sent: asyncio.Event, *, safe: bool) -> Response:
        connection = await self._connection()
        sent.set()
        try:
            return await self._answer(connection, request)
        except FAILURES as error:
            if not safe:
                raise self._broken_off(error) from error
        # The server may close an idle connection just when we use it, and networks break.
        connection = await self._connect()
        try:
            return await self._answer(connection, request)
        except FAILURES as error:
            raise self._broken_off(error) from error

    def _broken_off(self, error: Exception) -> Unavailable:
        return Unavailable(f"{self.address} broke off: {error!r}", sent=True)

    async def _answer(self, connection: Connection, request: bytes) -> Response:
        response, again = await self._exchanged(connection, request)
        if again:
            self._keep(connection)
        else:
            connection.close()
        return response

    async def _exchanged(self, connection: Connection, request: bytes) -> tuple[Response, bool]:
        """Leave no connection behind that is in the middle of something."""
        try:
            return await connection.exchange(request)
        except BaseException:
            connection.close()
            raise

    async def _connection(self) -> Connection:
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            fresh = now - connection.idle_since < self.keep_idle
            # Bytes that nobody asked for would be taken for the next response.
            if fresh and not connection.reader.at_eof() and not _has_bytes(connection.reader):
                return connection
            connection.close()
        return await self._connect()

    async def _connect(self) -> Connection:
        where = self.address
        try:
            if where.path:
                pair = await asyncio.open_unix_connection(where.path, limit=READ_AHEAD)
            else:
                pair = await asyncio.open_connection(
                    where.host, where.port, ssl=self.tls if where.secure else None, limit=READ_AHEAD
                )
        except OSError as error:
            raise Unavailable(f"cannot reach {where}: {error}") from error
        return Connection(*pair)

    def _keep(self, connection: Connection) -> None:
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)

    async def close(self) -> None:
        while self._idle:
            connection = self._idle.pop()
            connection.close()
            try:
                await connection.writer.wait_closed()
            except OSError:
                continue

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def _has_bytes(reader: asyncio.StreamReader) -> bool:
    return bool(reader._buffer)  # type: ignore[attr-defined] # there is no public way
