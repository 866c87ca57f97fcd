"""Where `events.py` sends what it has planned: the API server."""

from windlass.kube import kinds, requests
from windlass.kube.errors import Forbidden, NotFound
from windlass.kube.events import Create, EventGone, Patch
from windlass.kube.requests import Sends
from windlass.kube.wire import Anything
from windlass.values.key import Key


class ClientSink:
    """Events in the namespaces of what they regard."""

    def __init__(self, client: Sends) -> None:
        self._client = client

    async def create(self, event: Create) -> None:
        """Nobody will miss an event in a namespace that ends or has ended."""
        try:
            await self._client.send(
                requests.create(kinds.EVENT, event.namespace, event.body, Anything)
            )
        except Forbidden as error:
            if not error.namespace_ends:
                raise
        except NotFound:
            pass

    async def patch(self, event: Patch) -> None:
        key = Key(event.namespace, event.name)
        try:
            await self._client.send(requests.merge_patch(kinds.EVENT, key, event.body, Anything))
        except NotFound as error:
            raise EventGone from error
