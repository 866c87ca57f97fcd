"""A proxy on loopback that does to an API server's answers what networks do to them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from yarl import URL

from windlass.kube.access import Access
from windlass.kube.credentials import FixedToken

Fault = Callable[[web.Request, "Upstream"], Awaitable[web.StreamResponse]]


class Upstream:
    """The real answer to a request, not yet asked for."""

    def __init__(self, session: aiohttp.ClientSession, server: str, request: web.Request) -> None:
        self._session = session
        self._server = server
        self._request = request

    async def passed_on(
        self, cut_after: int | None = None, piece: int = 1 << 20
    ) -> web.StreamResponse:
        """The answer as it comes, in pieces; the connection breaks after so many bytes."""
        request = self._request
        url = URL(self._server + request.raw_path, encoded=True)
        body = await request.read()
        headers = {"Accept": request.headers["Accept"], "Accept-Encoding": "identity"}
        if "Content-Type" in request.headers:
            headers["Content-Type"] = request.headers["Content-Type"]
        async with self._session.request(request.method, url, data=body, headers=headers) as answer:
            try:
                return await self._copied(answer, cut_after, piece)
            finally:
                # A polite end of TLS would outlast the test's event loop.
                if answer.connection is not None and answer.connection.transport is not None:
                    answer.connection.transport.abort()

    async def _copied(
        self, answer: aiohttp.ClientResponse, cut_after: int | None, piece: int
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status)
        await response.prepare(self._request)
        sent = 0
        async for chunk in answer.content.iter_any():
            for start in range(0, len(chunk), piece):
                part = chunk[start : start + piece]
                if cut_after is not None and sent + len(part) > cut_after:
                    await response.write(part[: cut_after - sent])
                    return cut(self._request, response)
                await response.write(part)
                sent += len(part)
        await response.write_eof()
        return response


def cut(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.close()
    return response


# --- faults --------------------------------------------------------------------------------


async def nothing(request: web.Request, upstream: Upstream) -> web.StreamResponse:
    return await upstream.passed_on()


async def hung_up(request: web.Request, upstream: Upstream) -> web.StreamResponse:
    """The request arrived; no answer does."""
    return cut(request, web.Response())


def half_sent(after: int) -> Fault:
    async def fault(request: web.Request, upstream: Upstream) -> web.StreamResponse:
        return await upstream.passed_on(cut_after=after)

    return fault


async def slow(request: web.Request, upstream: Upstream) -> web.StreamResponse:
    """Many small pieces, most of them in the middle of something."""
    return await upstream.passed_on(piece=97)


def refused(code: int, reason: str = "", **headers: str) -> Fault:
    async def fault(request: web.Request, upstream: Upstream) -> web.StreamResponse:
        body = {"kind": "Status", "code": code, "reason": reason, "message": "injected"}
        return web.json_response(body, status=code, headers=headers)

    return fault


async def babble(request: web.Request, upstream: Upstream) -> web.StreamResponse:
    return web.Response(status=502, text="<html>bad gateway</html>")


async def silence(request: web.Request, upstream: Upstream) -> web.StreamResponse:
    """An answer begins, and nothing follows, until the client has enough."""
    response = web.StreamResponse()
    await response.prepare(request)
    while request.transport is not None and not request.transport.is_closing():
        await asyncio.sleep(0.01)
    return response


# --- the proxy -----------------------------------------------------------------------------


@dataclass
class Proxy:
    access: Access
    faults: list[Fault] = field(default_factory=list)  # one for each request to come
    seen: list[str] = field(default_factory=list)

    def next_fault(self) -> Fault:
        return self.faults.pop(0) if self.faults else nothing


@asynccontextmanager
async def proxied(real: Access) -> AsyncIterator[Proxy]:
    """A plain-HTTP door to the API server that `real` reaches, as the same user."""
    connector = aiohttp.TCPConnector(ssl=real.tls or True)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            proxy.seen.append(f"{request.method} {request.raw_path}")
            fault = proxy.next_fault()
            return await fault(request, Upstream(session, real.server, request))

        runner = web.AppRunner(_application(handle), shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            port = runner.addresses[0][1]
            proxy = Proxy(Access(f"http://127.0.0.1:{port}", FixedToken()))
            yield proxy
        finally:
            await runner.cleanup()
    for _ in range(2):
        await asyncio.sleep(0)


def _application(
    handle: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> web.Application:
    application = web.Application(client_max_size=1 << 26)
    application.router.add_route("*", "/{rest:.*}", handle)
    return application
