"""Has claims bound for the nodes of their pods: by Kubernetes' own controllers, which are told."""

from typing import Any, Final

from windlass.bridge.plan import PlaceClaim
from windlass.bridge.volumes import SELECTED
from windlass.kube import kinds, requests
from windlass.kube.errors import Conflict, Invalid, NotFound
from windlass.kube.kinds import Kind
from windlass.kube.requests import Sends
from windlass.kube.wire import Anything
from windlass.values.key import Key

BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
REMEMBERED: Final = 10_000


class ClaimWriter:
    def __init__(self, client: Sends) -> None:
        self._client = client
        self._given: dict[str, str] = {}
        """By uid of the claim: its volume. The list that it was found in may be a bit old."""

    async def place(self, action: PlaceClaim) -> None:
        if action.volume:
            await self._give(action)
        else:
            note = {"uid": action.uid, "annotations": {SELECTED: action.node}}
            await self._changed(kinds.PERSISTENT_VOLUME_CLAIM, action.claim, {"metadata": note})

    async def _give(self, action: PlaceClaim) -> None:
        if action.uid in self._given:
            return
        claim = {
            "apiVersion": kinds.PERSISTENT_VOLUME_CLAIM.api_version,
            "kind": kinds.PERSISTENT_VOLUME_CLAIM.kind,
            "namespace": action.claim.namespace,
            "name": action.claim.name,
            "uid": action.uid,
        }
        note = {"resourceVersion": action.version, "annotations": {BY_CONTROLLER: "yes"}}
        change = {"metadata": note, "spec": {"claimRef": claim}}
        if await self._changed(kinds.PERSISTENT_VOLUME, Key("", action.volume), change):
            if len(self._given) >= REMEMBERED:
                self._given.clear()
            self._given[action.uid] = action.volume

    async def _changed(self, kind: Kind, at: Key, change: dict[str, Any]) -> bool:
        """Whether it was still as it had been read."""
        try:
            await self._client.send(requests.merge_patch(kind, at, change, Anything))
        except (NotFound, Conflict, Invalid):
            return False
        return True
