"""Looks up the claims of pods that have some, and what is behind them.

A cluster may have more claims than pods that wait for Slurm, so none is watched: they are asked
for when a gang is looked at, and what was answered is good for a while. Whoever has no claims asks
for nothing.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, TypeVar

from windlass.bridge import volumes
from windlass.bridge.dra import ResourceClaim
from windlass.bridge.volumes import Claim, Mount, Storage, StorageClass, Volume
from windlass.kube import kinds, requests
from windlass.kube.errors import NotFound
from windlass.kube.kinds import Kind
from windlass.kube.objects import Pod
from windlass.kube.requests import Paging, Sends
from windlass.values.key import Key
from windlass.values.reason import Reason

T = TypeVar("T")

NOTHING: Final = Storage()
SETTLED: Final = 60.0
"""Seconds for which an answer is good that will hardly change."""
OPEN: Final = 0.0
LIST: Final = 5.0
PAGE: Final = 500
MOST: Final = 10_000


class Claims:
    def __init__(self, client: Sends, now: Callable[[], datetime]) -> None:
        self._client = client
        self._now = now
        self._known: dict[tuple[Kind, Key], tuple[float, Any]] = {}

    async def storage(self, pods: Iterable[Pod]) -> Storage:
        """Of the pods that have no node yet."""
        found: dict[Key, tuple[Mount, ...]] = {}
        for pod in pods:
            mounts = []
            for claim, owner in volumes.claims_of(pod):
                mount = await self._mount(claim, owner)
                if isinstance(mount, Reason):
                    return Storage(waits=mount)
                mounts.append(mount)
            if mounts:
                found[pod.metadata.key] = tuple(mounts)
        return Storage(found) if found else NOTHING

    async def device_claim(self, at: Key) -> ResourceClaim | None:
        """Of a pod that has devices; as it is now."""
        return await self._get(kinds.RESOURCE_CLAIM, at, ResourceClaim, lambda _: OPEN)

    async def _mount(self, at: Key, owner: str) -> Mount | Reason:
        claim = await self._get(kinds.PERSISTENT_VOLUME_CLAIM, at, Claim, _claim_lasts)
        reason = volumes.missing(at, claim, owner)
        if reason or claim is None:
            return reason or Reason("ClaimMissing", str(at))
        if volumes.is_bound(claim):
            name = Key("", claim.spec.volume_name)
            return volumes.settled(claim, await self._volume(name))
        called = claim.spec.storage_class_name
        if not called:
            return volumes.open_claim(claim, None, ())
        kind = await self._get(kinds.STORAGE_CLASS, Key("", called), StorageClass, _lasts)
        late = kind is not None and kind.volume_binding_mode == volumes.LATE
        static = late and kind is not None and kind.provisioner == volumes.NOT_PROVISIONED
        return volumes.open_claim(claim, kind, await self._of_class(called) if static else ())

    async def _volume(self, at: Key) -> Volume | None:
        return await self._get(kinds.PERSISTENT_VOLUME, at, Volume, _lasts)

    async def _of_class(self, called: str) -> list[Volume]:
        """No field of volumes tells their class, so all are read; once for all that ask now."""
        at = kinds.PERSISTENT_VOLUME, Key("", "")
        expires, every = self._known.get(at, (0.0, ()))
        if expires <= self._now().timestamp():
            every = await self._every_volume()
            self._remember(at, LIST, every)
        return [each for each in every if each.spec.storage_class_name == called]

    async def _every_volume(self) -> list[Volume]:
        every: list[Volume] = []
        paging = Paging(PAGE)
        while True:
            page = await self._client.send(
                requests.list_page(kinds.PERSISTENT_VOLUME, Volume, paging=paging)
            )
            every += page.items or ()
            if not page.metadata.continue_:
                return every
            paging = Paging(PAGE, page.metadata.continue_)

    async def _get(
        self, kind: Kind, at: Key, struct: type[T], lasts: Callable[[T | None], float]
    ) -> T | None:
        expires, known = self._known.get((kind, at), (0.0, None))
        if expires > self._now().timestamp():
            found: T | None = known
            return found
        try:
            found = await self._client.send(requests.get(kind, at, struct))
        except NotFound:
            found = None
        self._remember((kind, at), lasts(found), found)
        return found

    def _remember(self, at: tuple[Kind, Key], seconds: float, answer: Any) -> None:
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[at] = self._now().timestamp() + seconds, answer


def _claim_lasts(claim: Claim | None) -> float:
    return SETTLED if claim is not None and volumes.is_bound(claim) else OPEN


def _lasts(found: object) -> float:
    return OPEN if found is None else SETTLED
