"""Where `rotation.py` keeps certificates, and who is made to trust them: a Secret and webhooks."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from windlass.kube import kinds, requests
from windlass.kube.certificates import trust_patch
from windlass.kube.errors import AlreadyExists, Conflict, NotFound
from windlass.kube.kinds import Kind
from windlass.kube.objects import Secret
from windlass.kube.requests import Request, Sends
from windlass.kube.rotation import Stored, StoredMeanwhile
from windlass.kube.wire import Anything, Document
from windlass.values.key import Key

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Webhooks:
    """A webhook configuration of ours: kinds.MUTATING_WEBHOOKS or kinds.VALIDATING_WEBHOOKS."""

    kind: Kind
    name: str


class ClientStore:
    """One Secret, and the configurations that have to trust it; nobody else's are touched."""

    def __init__(self, client: Sends, secret: Key, webhooks: Sequence[Webhooks]) -> None:
        self._client = client
        self._secret = secret
        self._webhooks = webhooks

    async def read(self) -> Stored:
        try:
            found = await self._client.send(requests.get(kinds.SECRET, self._secret, Secret))
        except NotFound:
            return Stored({})
        return Stored(found.data or {}, found.metadata.resource_version)

    async def write(self, stored: Stored) -> None:
        try:
            await self._client.send(self._patched(stored) if stored.version else self._new(stored))
        except (AlreadyExists, Conflict, NotFound) as error:
            raise StoredMeanwhile from error

    def _new(self, stored: Stored) -> Request[Anything]:
        metadata = {"namespace": self._secret.namespace, "name": self._secret.name}
        body = {"metadata": metadata, "type": "kubernetes.io/tls", "data": stored.data}
        return requests.create(kinds.SECRET, self._secret.namespace, body, Anything)

    def _patched(self, stored: Stored) -> Request[Anything]:
        """All data and nothing else; an unexpected resourceVersion is a Conflict."""
        operations = (
            {"op": "replace", "path": "/metadata/resourceVersion", "value": stored.version},
            {"op": "add", "path": "/data", "value": stored.data},
        )
        return requests.json_patch(kinds.SECRET, self._secret, operations, Anything)

    async def trust(self, bundle: bytes) -> None:
        for webhooks in self._webhooks:
            try:
                await self._trust(webhooks, bundle)
            except NotFound:
                log.warning("%s %s is not there", webhooks.kind.kind, webhooks.name)

    async def _trust(self, webhooks: Webhooks, bundle: bytes) -> None:
        key = Key("", webhooks.name)
        read = requests.get(webhooks.kind, key, Document)
        while patch := trust_patch((await self._client.send(read)).body, bundle):
            try:
                await self._client.send(requests.json_patch(webhooks.kind, key, patch, Anything))
            except Conflict:
                log.info("%s %s changed meanwhile", webhooks.kind.kind, webhooks.name)
