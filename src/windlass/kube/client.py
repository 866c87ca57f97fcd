"""The only file that speaks HTTP to the API server: Requests go in, typed answers come out.

A request is sent again in three cases only: it is a read and the connection failed; the server
said 429 and when to come back (nothing was done yet, whatever the verb); the server said 401 and
there are fresh credentials to try once. Everything else is for the caller to decide. Whoever
observes is told of each time a request went out; whoever guards is asked each time a write would.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, TypeVar

import aiohttp
import msgspec
from yarl import URL

from windlass.kube import wire
from windlass.kube.access import Access
from windlass.kube.errors import (
    KubeError,
    Refused,
    Silent,
    Status,
    TooManyRequests,
    Unavailable,
    Unreachable,
    Unreadable,
    error_of,
)
from windlass.kube.requests import Request

T = TypeVar("T")
Observer = Callable[[str, str, int, float], None]  # verb, kind, code or 0, seconds to the answer
Check = Callable[[], None]

# Inside a cluster bytes are cheaper than the CPU that would squeeze them, on both sides.
HEADERS: Final = {"Accept-Encoding": "identity", "User-Agent": "windlass"}
_decoder = lru_cache(maxsize=512)(wire.decoder)
_read_status = msgspec.json.Decoder(Status).decode


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How patient and how greedy one client is; times in seconds."""

    connections: int = 32
    watches: int = 64  # each holds a connection of its own, beside those of the requests
    connect: float = 10.0
    answer: float = 60.0
    silence: float = 150.0  # bookmarks come about once a minute
    attempts: int = 4
    retry_after: float = 30.0  # told to wait longer, the caller decides
    first_pause: float = 0.1


def unobserved(verb: str, kind: str, code: int, seconds: float) -> None:
    """Nobody counts."""


def unguarded() -> None:
    """Nobody minds."""


class Client:
    """A pool of connections to one API server; use it in `async with`."""

    def __init__(
        self,
        access: Access,
        limits: Limits | None = None,
        chance: Callable[[], float] = random.random,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        observe: Observer = unobserved,
    ) -> None:
        self._access = access
        self._observe = observe
        self._limits = limits or Limits()
        self._chance = chance
        self._pause = pause

    async def __aenter__(self) -> "Client":
        limits = self._limits
        self._requests = self._session(
            limits.connections,
            aiohttp.ClientTimeout(total=limits.answer, sock_connect=limits.connect),
        )
        self._watches = self._session(
            limits.watches,
            aiohttp.ClientTimeout(
                total=None, sock_connect=limits.connect, sock_read=limits.silence
            ),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._requests.close()
        await self._watches.close()
        # An aborted connection is gone only after the loop has come round for TLS and for TCP.
        for _ in range(2):
            await asyncio.sleep(0)

    def _session(self, connections: int, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(limit=connections, ssl=self._access.tls or True)
        session = aiohttp.ClientSession(connector=connector, timeout=timeout, headers=HEADERS)
        # aiohttp would send a PUT or DELETE again when a kept connection breaks under it.
        session._retry_connection = False
        return session

    # --- one answer ------------------------------------------------------------------------

    async def send(self, request: Request[T], check: Check = unguarded) -> T:
        """Send one request and return its typed answer, or raise a KubeError.

        `check` is called right before a write goes out, also when it goes out again; what it raises
        is raised here, and nothing was sent.
        """
        if request.safe:
            check = unguarded
        tries = 0
        while True:
            try:
                return await self._answer(request, check)
            except (TooManyRequests, Unreachable) as error:
                tries += 1
                pause = self._pause_before_retry(request, error, tries)
                if pause is None:
                    raise
                await self._pause(pause)

    async def _answer(self, request: Request[T], check: Check) -> T:
        async with self._opened(request, self._requests, check) as response:
            body = await response.read()
        return _read(request, body)

    def _pause_before_retry(
        self, request: Request[Any], error: TooManyRequests | Unreachable, tries: int
    ) -> float | None:
        if tries >= self._limits.attempts:
            return None
        if isinstance(error, Unreachable):
            spread = self._limits.first_pause * 4 ** (tries - 1)
            return spread * (0.5 + self._chance() / 2) if request.safe else None
        after = error.retry_after
        if error.budget or after is None or after > self._limits.retry_after:
            return None
        return after

    # --- many answers ----------------------------------------------------------------------

    async def stream(self, request: Request[T]) -> AsyncGenerator[T, None]:
        """The events of a watch until the server ends it; close the iterator to leave early."""
        decode = _decoder(request.expects).decode
        rest = b""
        async with self._opened(request, self._watches) as response:
            try:
                async for chunk in response.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        yield _event(request, line, decode)
            finally:
                _leave(response)
        if rest:
            raise Unreachable(f"GET {request.path}: the watch was cut in the middle of an event")

    # --- the wire --------------------------------------------------------------------------

    @asynccontextmanager
    async def _opened(
        self, request: Request[Any], session: aiohttp.ClientSession, check: Check = unguarded
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response of an accepted request, whose body is still to be read."""
        with _as_kube_errors(request):
            response = await self._ask(request, session, check)
            if response.status == HTTPStatus.UNAUTHORIZED and await self._renewed(response):
                response = await self._ask(request, session, check)
            async with response:
                if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                    raise _error(response, await response.read())
                yield response

    async def _ask(
        self, request: Request[Any], session: aiohttp.ClientSession, check: Check
    ) -> aiohttp.ClientResponse:
        headers = {"Accept": request.accept}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        if token := await self._access.credentials.token():
            headers["Authorization"] = f"Bearer {token}"
        url = URL(self._access.server + request.target, encoded=True)
        clock = asyncio.get_running_loop().time
        code = 0
        check()
        sent = clock()
        try:
            response = await session.request(
                request.method,
                url,
                data=request.body,
                headers=headers,
                server_hostname=self._access.tls_server_name,
                allow_redirects=False,
            )
            code = response.status
        finally:
            self._observe(*request.name, code, clock() - sent)
        return response

    async def _renewed(self, response: aiohttp.ClientResponse) -> bool:
        if not await self._access.credentials.renew():
            return False
        await response.read()
        return True


def _leave(response: aiohttp.ClientResponse) -> None:
    """Drop the connection of a watch at once: a polite end would wait for one who is talking."""
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


def _read(request: Request[T], body: bytes) -> T:
    try:
        answer: T = _decoder(request.expects).decode(body)
    except msgspec.DecodeError as error:
        raise Unreadable(f"{request.method} {request.path}: {error}") from error
    return answer


def _event(request: Request[T], line: bytes, decode: Callable[[bytes], T]) -> T:
    try:
        return decode(line)
    except msgspec.DecodeError as error:
        raise Unreadable(f"watch {request.path}: {error}") from error


def _error(response: aiohttp.ClientResponse, body: bytes) -> Refused | Unavailable:
    """The error of a refusal; whoever answered may not have been an API server."""
    try:
        status = _read_status(body)
    except msgspec.DecodeError:
        status = Status(message=body[:200].decode(errors="replace").strip())
    if not status.code:
        status = msgspec.structs.replace(status, code=response.status)
    return error_of(status, _retry_after(response.headers))


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = headers.get("Retry-After", "")
    return float(value) if value.isdigit() else None


@contextmanager
def _as_kube_errors(request: Request[Any]) -> Iterator[None]:
    """Whatever happens to a connection becomes one of our errors."""
    what = f"{request.method} {request.path}"
    try:
        yield
    except KubeError:
        raise
    except aiohttp.SocketTimeoutError as error:
        raise Silent(f"{what}: not a byte for too long") from error
    except (aiohttp.ClientError, ConnectionError) as error:
        raise Unreachable(f"{what}: {str(error) or type(error).__name__}") from error
    except (TimeoutError, OSError) as error:
        raise Unavailable(f"{what}: {str(error) or 'no answer in time'}") from error
