"""Claims that wait for the node of their pod are told it; the pod is bound once they are."""

from collections.abc import Iterable, Iterator
from typing import Final

from windlass.bridge.ground import Ground
from windlass.bridge.plan import PlaceClaim
from windlass.bridge.volumes import Mount, takes
from windlass.values.reason import Reason

NOT_BOUND: Final = "VolumeNotBound"


def not_bound(ground: Ground, mounts: Iterable[Mount]) -> Reason | None:
    for mount in mounts:
        if not mount.bound:
            sentence = f"claim {mount.claim} is being bound for {ground.name}"
            return Reason(NOT_BOUND, sentence)
    return None


def placed(ground: Ground, mounts: Iterable[Mount]) -> Iterator[PlaceClaim]:
    for mount in mounts:
        if mount.bound or mount.given or (mount.selected and not mount.candidates):
            continue
        fits = (each for each in mount.candidates if takes(each.terms, ground.host))
        volume = next(fits, None)
        if volume is not None:
            yield PlaceClaim(mount.claim, mount.uid, ground.name, volume.name, volume.version)
        elif not mount.candidates:
            yield PlaceClaim(mount.claim, mount.uid, ground.name)
