"""A client that writes only while it may: give controllers that are elected no other."""

from collections.abc import AsyncGenerator
from typing import TypeVar

from windlass.kube.client import Check, Client
from windlass.kube.requests import Request

T = TypeVar("T")


class Guarded:
    """Asks `check`, such as an elector's, right before each write; reads and watches pass.

    A process that slept through the loss of its lease finds out here, before its timers do.
    Between the question and the bytes there is a gap that no lease closes: a process paused exactly
    there, for longer than `lease - renew`, sends one write as the leader it no longer is. Only the
    API server can refuse that one, so a write that must not happen twice carries a precondition.
    """

    def __init__(self, client: Client, check: Check) -> None:
        self._client = client
        self._check = check

    async def send(self, request: Request[T]) -> T:
        return await self._client.send(request, self._check)

    def stream(self, request: Request[T]) -> AsyncGenerator[T, None]:
        return self._client.stream(request)
