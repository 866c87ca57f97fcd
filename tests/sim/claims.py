"""The data of workers: a claim goes only where the NodeSet says so, and never under a worker."""

from dataclasses import dataclass, field
from typing import Any, Final

from windlass.kube import kinds
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key

Json = dict[str, Any]

TEMPLATE: Final = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@dataclass
class Claims:
    kube: FakeKube
    node_set: Key
    _known: set[str] = field(default_factory=set)

    def look(self) -> str | None:
        """What is wrong after a write."""
        there = {key.name for key, _ in self.kube.all(kinds.PERSISTENT_VOLUME_CLAIM)}
        gone, self._known = self._known - there, there
        for name in sorted(gone):
            if wrong := self._wrong(name):
                return wrong
        return None

    def _wrong(self, claim: str) -> str | None:
        found = self.kube.find(kinds.NODE_SET, self.node_set)
        policy = found["spec"].get("persistentVolumeClaimRetentionPolicy") or {} if found else {}
        if found is not None and policy.get("whenScaled", "Retain") == "Retain":
            return f"{claim} is gone, which was to be kept"
        used = [key.name for key, pod in self.kube.all(kinds.POD) if claim in mounted(pod)]
        return f"{claim} is gone under {used[0]}" if used else None

    def unwanted(self) -> str | None:
        """One that should be gone, or of a set that keeps none that nobody has."""
        found = self.kube.find(kinds.NODE_SET, self.node_set)
        policy = (found or {"spec": {}})["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
        if policy.get("whenScaled") != "Delete":
            return None
        used = {name for _, pod in self.kube.all(kinds.POD) for name in mounted(pod)}
        left = {key.name for key, _ in self.kube.all(kinds.PERSISTENT_VOLUME_CLAIM)} - used
        return f"{min(left)} is left" if left else None


def mounted(pod: Json) -> set[str]:
    """The claims of a pod that stays."""
    if "deletionTimestamp" in pod["metadata"]:
        return set()
    volumes = pod["spec"].get("volumes") or ()
    return {each["persistentVolumeClaim"]["claimName"] for each in volumes if _claims(each)}


def _claims(volume: Json) -> bool:
    return "persistentVolumeClaim" in volume
