"""The API server over plain HTTP verbs: just enough for the contract tests of the running half."""

import asyncio
import selectors
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from windlass.kube.leader import Lease, Taken, lease_object, read_lease


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


@dataclass(frozen=True)
class PlainLeases:
    """One Lease, as the elector wants it."""

    api: PlainApi
    namespace: str
    name: str

    @property
    def path(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"

    async def read(self) -> Lease | None:
        try:
            return read_lease(await self.api.call("GET", f"{self.path}/{self.name}"))
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    async def create(self, lease: Lease) -> Lease:
        return await self._write("POST", self.path, lease)

    async def replace(self, lease: Lease) -> Lease:
        return await self._write("PUT", f"{self.path}/{self.name}", lease)

    async def _write(self, verb: str, path: str, lease: Lease) -> Lease:
        body = lease_object(lease, self.namespace, self.name)
        try:
            return read_lease(await self.api.call(verb, path, body))
        except Refused as refused:
            if refused.code in (404, 409):
                raise Taken from refused
            raise
