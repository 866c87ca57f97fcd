"""The API server over plain HTTP, for what the client does not do: dry runs, warnings."""

import asyncio
import selectors
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp


class Refused(Exception):
    """The API server said no."""

    def __init__(self, code: int, status: dict[str, Any]) -> None:
        super().__init__(f"{code}: {status.get('message')}")
        self.code = code
        self.status = status


@dataclass(frozen=True)
class PlainApi:
    session: aiohttp.ClientSession
    server: str

    async def call(
        self, verb: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> Any:
        answer = await self.session.request(
            verb, self.server + path, json=body, headers={"Content-Type": kind}
        )
        found = await answer.json()
        if answer.status >= 400:
            raise Refused(answer.status, found)
        return found


@asynccontextmanager
async def connected(server: str, pki: Path) -> AsyncIterator[PlainApi]:
    """Speak to the API server as its administrator."""
    trust = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    trust.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    connector = aiohttp.TCPConnector(ssl=trust)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield PlainApi(session, server)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run to the end, and on until both ends of every connection have said goodbye."""
    selector = selectors.DefaultSelector()

    async def quiet() -> None:
        async with asyncio.timeout(10):
            while len(selector.get_map()) > 1:  # the loop's own waking pipe stays
                await asyncio.sleep(0.01)

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(main)
        runner.run(quiet())
