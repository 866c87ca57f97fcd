"""Makes the claims of pods that have devices, and takes them back.

A claim has the name that follows from its pod, so that one from before a stop is found, and used
if it says the same. What classes configure is noted there, too, since drivers look nowhere else.
Drivers and kubelets do the rest.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from windlass.bridge.dra import EXTENDED, FROM_CLASS, DeviceClaim, DeviceClass, ResourceClaim
from windlass.bridge.plan import Target
from windlass.bridge.slices import DeviceName
from windlass.kube import kinds, requests
from windlass.kube.errors import NotFound
from windlass.kube.kinds import DEVICE_CLASS, POD, RESOURCE_CLAIM
from windlass.kube.requests import Deletion, Sends
from windlass.kube.wire import Anything
from windlass.values.key import Key
from windlass.values.moments import written


class DeviceWriter:
    def __init__(self, client: Sends, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now

    async def give(self, pod: Target, devices: DeviceClaim, node: str) -> bool:
        """Whether the pod was there to be given something."""
        at = Key(pod.key.namespace, devices.name)
        if not await self._given(at, pod, devices):
            made = await self._made(at, pod, devices)
            status = self._status(pod, devices, node, await self._configuration(devices))
            note = {"metadata": {"uid": made.metadata.uid}, "status": status}
            await self._client.send(
                requests.merge_patch(RESOURCE_CLAIM, at, note, Anything, "status")
            )
        shown = {
            "resourceClaimName": devices.name,
            "requestMappings": list(devices.mappings),
        }
        change = {"metadata": {"uid": pod.uid}, "status": {"extendedResourceClaimStatus": shown}}
        try:
            await self._client.send(requests.merge_patch(POD, pod.key, change, Anything, "status"))
        except NotFound:
            return False
        return True

    async def take_back(self, pod: Target, claim: str) -> None:
        if claim:
            with suppress(NotFound):
                at = Key(pod.key.namespace, claim)
                await self._client.send(requests.delete(RESOURCE_CLAIM, at))

    async def _given(self, at: Key, pod: Target, devices: DeviceClaim) -> bool:
        """Whether the claim is there and says the same; one that does not is deleted."""
        try:
            found = await self._client.send(requests.get(RESOURCE_CLAIM, at, ResourceClaim))
        except NotFound:
            return False
        owner, wanted = found.metadata.controller, {_named(each) for each in devices.results}
        if owner is not None and owner.uid == pod.uid and set(found.given) == wanted:
            return True
        how = Deletion(uid=found.metadata.uid)
        with suppress(NotFound):
            await self._client.send(requests.delete(RESOURCE_CLAIM, at, how))
        return False

    async def _made(self, at: Key, pod: Target, devices: DeviceClaim) -> ResourceClaim:
        owner = {
            "apiVersion": kinds.POD.api_version,
            "kind": kinds.POD.kind,
            "name": pod.key.name,
            "uid": pod.uid,
            "controller": True,
        }
        meta = {
            "name": at.name,
            "namespace": at.namespace,
            "annotations": {EXTENDED: "true"},
            "ownerReferences": [owner],
        }
        body = {"metadata": meta, "spec": devices.spec}
        request = requests.create(RESOURCE_CLAIM, at.namespace, body, ResourceClaim)
        return await self._client.send(request)

    async def _configuration(self, devices: DeviceClaim) -> list[dict[str, Any]]:
        """What the class of each request says to drivers, in the order of requests."""
        found = []
        for name, device_class in devices.classes:
            at = Key("", device_class)
            try:
                read = await self._client.send(requests.get(DEVICE_CLASS, at, DeviceClass))
            except NotFound:
                continue
            told = {"source": FROM_CLASS, "requests": [name]}
            found += [{**told, **each} for each in read.spec.config or ()]
        return found

    def _status(
        self, pod: Target, devices: DeviceClaim, node: str, configuration: list[dict[str, Any]]
    ) -> dict[str, Any]:
        here = {"key": "metadata.name", "operator": "In", "values": [node]}
        given: dict[str, Any] = {"results": list(devices.results)}
        allocation = {
            "devices": given | ({"config": configuration} if configuration else {}),
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
            "allocationTimestamp": written(self._now()),
        }
        user = {"resource": POD.plural, "name": pod.key.name, "uid": pod.uid}
        return {"allocation": allocation, "reservedFor": [user]}


def _named(result: Any) -> DeviceName:
    return DeviceName(result["driver"], result["pool"], result["device"])
