"""What reviews look up of other objects: live, since a cache may lag behind who applies both."""

import asyncio
from typing import Final, Protocol

from windlass.kube import kinds, requests
from windlass.kube.errors import NotFound
from windlass.kube.objects import ConfigMap, PersistentVolumeClaim
from windlass.kube.requests import Sends
from windlass.values.key import Key

# The API server waits ten seconds for the whole review.
WITHIN: Final = 5.0


class Lookups(Protocol):
    """Of an object that is not there they say None."""

    async def files(self, config_map: Key) -> frozenset[str] | None:
        """The names of its entries."""

    async def access_modes(self, claim: Key) -> frozenset[str] | None: ...


class ClientLookups:
    def __init__(self, client: Sends) -> None:
        self._client = client

    async def files(self, config_map: Key) -> frozenset[str] | None:
        try:
            async with asyncio.timeout(WITHIN):
                found = await self._client.send(
                    requests.get(kinds.CONFIG_MAP, config_map, ConfigMap)
                )
        except NotFound:
            return None
        return frozenset(found.data or ()) | frozenset(found.binary_data or ())

    async def access_modes(self, claim: Key) -> frozenset[str] | None:
        try:
            async with asyncio.timeout(WITHIN):
                found = await self._client.send(
                    requests.get(kinds.PERSISTENT_VOLUME_CLAIM, claim, PersistentVolumeClaim)
                )
        except NotFound:
            return None
        return frozenset(found.spec.access_modes or ())
