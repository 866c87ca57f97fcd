"""The floor: the same objects made and deleted by 16 connections that do nothing else."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import msgspec

from windlass.kube.access import Access

CONNECTIONS: Final = 16


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str
    body: bytes | None = None
    kind: str = "application/json"
    """Of the body."""


@dataclass(frozen=True, slots=True)
class Bare:
    session: aiohttp.ClientSession
    server: str

    async def send(self, calls: Sequence[Call]) -> None:
        waiting = iter(calls)

        async def connection() -> None:
            for call in waiting:
                await self.one(call)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(CONNECTIONS):
                tasks.create_task(connection())

    async def one(self, call: Call) -> None:
        kind = {"Content-Type": call.kind} if call.body else {}
        url = self.server + call.path
        async with self.session.request(call.method, url, data=call.body, headers=kind) as answer:
            text = await answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{call.method} {call.path}: {answer.status} {text[:300]!r}")


@asynccontextmanager
async def bare(access: Access) -> AsyncIterator[Bare]:
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=access.tls or True)
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Bare(session, access.server)


def creating(collection: str, bodies: Iterable[Any]) -> list[Call]:
    return [Call("POST", collection, msgspec.json.encode(body)) for body in bodies]


def deleting(collection: str, names: Iterable[str]) -> list[Call]:
    return [Call("DELETE", f"{collection}/{name}") for name in names]
