"""The Lease that `leader.py` elects over, as the API server keeps it."""

from typing import Any

from windlass.kube import kinds, objects, requests
from windlass.kube.errors import AlreadyExists, Conflict, NotFound
from windlass.kube.leader import EPOCH, Lease, Taken
from windlass.kube.requests import Request, Sends
from windlass.values.key import Key


class ClientLeases:
    """One named Lease. Give it a client that no election guards: it is written before one leads."""

    def __init__(self, client: Sends, key: Key) -> None:
        self._client = client
        self._key = key

    async def read(self) -> Lease | None:
        try:
            return lease_of(
                await self._client.send(requests.get(kinds.LEASE, self._key, objects.Lease))
            )
        except NotFound:
            return None

    async def create(self, lease: Lease) -> Lease:
        body = lease_object(lease, self._key)
        try:
            return await self._written(
                requests.create(kinds.LEASE, self._key.namespace, body, objects.Lease)
            )
        except AlreadyExists as error:
            raise Taken from error

    async def replace(self, lease: Lease) -> Lease:
        body = lease_object(lease, self._key)
        try:
            return await self._written(
                requests.replace(kinds.LEASE, self._key, body, objects.Lease)
            )
        except (Conflict, NotFound) as error:
            raise Taken from error

    async def _written(self, request: Request[objects.Lease]) -> Lease:
        return lease_of(await self._client.send(request))


def lease_object(lease: Lease, key: Key) -> dict[str, Any]:
    """The Lease as the API server takes it.

    A PUT makes a Lease that is not there, whatever version it names; naming the uid forbids that.
    """
    guard = {"resourceVersion": lease.version, "uid": lease.uid}
    metadata = {"namespace": key.namespace, "name": key.name}
    return {
        "apiVersion": kinds.LEASE.api_version,
        "kind": kinds.LEASE.kind,
        "metadata": metadata | {name: value for name, value in guard.items() if value},
        "spec": {
            "holderIdentity": lease.holder,
            "leaseDurationSeconds": lease.seconds,
            "acquireTime": objects.micro_time(lease.acquired),
            "renewTime": objects.micro_time(lease.renewed),
            "leaseTransitions": lease.transitions,
        },
    }


def lease_of(found: objects.Lease) -> Lease:
    """The Lease as the API server shows it; people and other programs may leave fields out."""
    spec = found.spec
    return Lease(
        holder=spec.holder_identity or "",
        seconds=spec.lease_duration_seconds or 1,
        acquired=spec.acquire_time or EPOCH,
        renewed=spec.renew_time or EPOCH,
        transitions=spec.lease_transitions or 0,
        version=found.metadata.resource_version,
        uid=found.metadata.uid,
    )
