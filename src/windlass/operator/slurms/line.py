"""A way to one slurmrestd that outlives its restarts, its upgrades and the keys of its cluster."""

import asyncio
from typing import Final, TypeVar

from windlass.slurm.call import Request
from windlass.slurm.client import Client, negotiated
from windlass.slurm.errors import Unsupported
from windlass.slurm.tokens import MintedToken
from windlass.slurm.transport import Transport
from windlass.values.clock import Clock

R = TypeVar("R")

USER: Final = "slurm"
LIFESPAN: Final = 900
"""Of a token, in seconds."""


class Line:
    """Sends requests in the name of Slurm's own user."""

    def __init__(self, transport: Transport, key: bytes, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock
        self._client: Client | None = None
        self._negotiating = asyncio.Lock()
        self.sign_with(key)

    def sign_with(self, key: bytes) -> None:
        self._minted = MintedToken(key, self._clock, USER, LIFESPAN)

    def token(self) -> str:
        return self._minted.token()

    async def send(self, request: Request[R]) -> R:
        """The version is agreed upon with the first request, and anew once it is not spoken."""
        client = await self._agreed()
        try:
            return await client.send(request)
        except Unsupported:
            self._client = None
            raise

    async def _agreed(self) -> Client:
        async with self._negotiating:
            if self._client is None:
                self._client = await negotiated(self._transport, self)
            return self._client
