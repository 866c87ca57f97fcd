"""A client of one Slurm: puts token, version and codec around the transport."""

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from windlass.slurm import requests
from windlass.slurm.call import Request, read
from windlass.slurm.errors import Refused, Unauthorized, Unsupported
from windlass.slurm.tokens import StaticToken, Tokens
from windlass.slurm.transport import Address, HttpTransport, Message, Transport
from windlass.slurm.versions import NEWEST_FIRST, Version

T = TypeVar("T")

TOKEN_HEADER: Final = "X-SLURM-USER-TOKEN"  # noqa: S105 - the name of a header


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests. It can be shared by any number of tasks."""

    transport: Transport
    tokens: Tokens
    version: Version

    async def send(self, request: Request[T]) -> T:
        """What the request asks for, or a SlurmError."""
        message = Message(
            method=request.method,
            target=request.target(self.version),
            headers={TOKEN_HEADER: one_line(self.tokens.token())},
            body=request.content(self.version),
            safe=request.safe,
        )
        return read(request, await self.transport.round_trip(message))

    def acting_with(self, tokens: Tokens | str) -> "Client":
        """The same Slurm in another user's name."""
        return Client(self.transport, as_tokens(tokens), self.version)


def one_line(token: str) -> str:
    """Refuse what would end the header and begin another."""
    if any(sign in token for sign in "\r\n\0"):
        raise Unauthorized("the token has a line break in it; a token is one line")
    return token


def as_tokens(tokens: Tokens | str) -> Tokens:
    return StaticToken(tokens) if isinstance(tokens, str) else tokens


async def negotiated(
    transport: Transport, tokens: Tokens, versions: Sequence[Version] = NEWEST_FIRST
) -> Client:
    """A client of the newest version that both sides speak; raises Refused if there is none."""
    for version in versions:
        client = Client(transport, tokens, version)
        try:
            await client.send(requests.ping())
        except Unsupported:
            continue
        return client
    spoken = ", ".join(version.path for version in versions)
    raise Refused(f"slurmrestd speaks none of {spoken}; Slurm 24.11 and later do")


@asynccontextmanager
async def connect(
    url: str,
    tokens: Tokens | str,
    *,
    timeout: float = 60.0,
    tls: ssl.SSLContext | None = None,
    versions: Sequence[Version] = NEWEST_FIRST,
) -> AsyncIterator[Client]:
    """A client of the slurmrestd at `http://host:port`, `https://host:port` or `unix:/path`.

    `tokens` is a token, or something that has one whenever it is asked. `tls` carries a private
    authority's certificate. `timeout` is for each request: slurmrestd itself waits about ten
    seconds for a silent slurmctld before it says so.
    """
    async with HttpTransport(Address.parse(url), timeout, tls) as transport:
        yield await negotiated(transport, as_tokens(tokens), versions)
