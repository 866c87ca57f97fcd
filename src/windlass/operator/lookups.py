"""What reviews look up of other objects: live, since a cache may lag behind who applies both."""

import asyncio
from typing import Final, Protocol, TypeVar

from windlass.api.accounting import Accounting
from windlass.api.common import Keys
from windlass.kube import kinds, requests
from windlass.kube.errors import NotFound
from windlass.kube.kinds import Kind
from windlass.kube.objects import ConfigMap, PersistentVolumeClaim
from windlass.kube.requests import Sends
from windlass.values.key import Key

# The API server waits ten seconds for the whole review.
WITHIN: Final = 5.0

T = TypeVar("T")


class Lookups(Protocol):
    """Of an object that is not there they say None."""

    async def files(self, config_map: Key) -> frozenset[str] | None:
        """The names of its entries."""

    async def access_modes(self, claim: Key) -> frozenset[str] | None: ...

    async def keys(self, accounting: Key) -> Keys | None:
        """Those that it names."""


class ClientLookups:
    def __init__(self, client: Sends) -> None:
        self._client = client

    async def files(self, config_map: Key) -> frozenset[str] | None:
        found = await self._get(kinds.CONFIG_MAP, config_map, ConfigMap)
        if found is None:
            return None
        return frozenset(found.data or ()) | frozenset(found.binary_data or ())

    async def access_modes(self, claim: Key) -> frozenset[str] | None:
        found = await self._get(kinds.PERSISTENT_VOLUME_CLAIM, claim, PersistentVolumeClaim)
        return None if found is None else frozenset(found.spec.access_modes or ())

    async def keys(self, accounting: Key) -> Keys | None:
        found = await self._get(kinds.ACCOUNTING, accounting, Accounting)
        return None if found is None else found.spec

    async def _get(self, kind: Kind, key: Key, expects: type[T]) -> T | None:
        try:
            async with asyncio.timeout(WITHIN):
                return await self._client.send(requests.get(kind, key, expects))
        except NotFound:
            return None
