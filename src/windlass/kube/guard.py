"""A client that writes only while it may: give controllers that are elected no other."""

from collections.abc import AsyncGenerator
from typing import TypeVar

from windlass.kube.client import Check, Client
from windlass.kube.requests import Request

T = TypeVar("T")


class Guarded:
    """Asks `check`, such as an elector's, right before each write; reads and watches pass.

    A process that slept through the loss of its lease finds out here, before its timers do.
    """

    def __init__(self, client: Client, check: Check) -> None:
        self._client = client
        self._check = check

    async def send(self, request: Request[T]) -> T:
        return await self._client.send(request, self._check)

    def stream(self, request: Request[T]) -> AsyncGenerator[T, None]:
        return self._client.stream(request)
