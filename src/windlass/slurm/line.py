"""A way to one slurmrestd that outlives its restarts, its upgrades and the keys of its cluster."""

import asyncio
from typing import TypeVar

from windlass.slurm.call import Request
from windlass.slurm.client import Client, negotiated
from windlass.slurm.errors import Unsupported
from windlass.slurm.tokens import Tokens
from windlass.slurm.transport import Transport

R = TypeVar("R")


class Line:
    """Sends requests; `tokens` may be replaced at any time."""

    def __init__(self, transport: Transport, tokens: Tokens) -> None:
        self.tokens = tokens
        self._transport = transport
        self._client: Client | None = None
        self._negotiating = asyncio.Lock()

    def token(self) -> str:
        return self.tokens.token()

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
