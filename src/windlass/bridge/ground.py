"""Whether a node of Kubernetes can take a pod right now, whatever Slurm has room for. Pure.

Slurm is told beforehand where a pod may run, and what others take of a node. Between its start and
the binding things may have changed; a kubelet would let the pod fail.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from windlass.bridge.amounts import written
from windlass.bridge.devices import DEFAULT, DeviceMap
from windlass.bridge.ports import HostPort
from windlass.bridge.resources import is_plugged
from windlass.bridge.slices import NOTHING, Inventory
from windlass.bridge.volumes import Mount, takes
from windlass.kube.objects import Node
from windlass.values.key import Key
from windlass.values.reason import Reason

PORT_TAKEN: Final = "PortTaken"
VOLUME_ELSEWHERE: Final = "VolumeElsewhere"
NODE_FULL: Final = "NodeFull"
NODE_UNKNOWN: Final = "NodeUnknown"
UNSUITABLE: Final = frozenset({PORT_TAKEN, VOLUME_ELSEWHERE, NODE_FULL, NODE_UNKNOWN})
"""Reasons for which another node might do."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A node, as far as it concerns the pods that are to be bound there."""

    host: Node
    free: dict[str, int] = field(default_factory=dict)
    """What pods leave of what kubelet gives them, in billionths."""
    ports: Mapping[HostPort, Key] = field(default_factory=dict)
    """Who has the ports that they want."""
    inventory: Inventory = NOTHING
    """The devices that drivers publish there, where they want some."""
    devices: DeviceMap = DEFAULT

    @property
    def name(self) -> str:
        return self.host.metadata.name

    def refusal(self, ports: Iterable[HostPort], mounts: Iterable[Mount]) -> Reason | None:
        for port in ports:
            if taker := self.ports.get(port):
                return Reason(PORT_TAKEN, f"pod {taker} has port {port} of {self.name}")
        for mount in mounts:
            if not takes(mount.terms, self.host):
                sentence = f"claim {mount.claim} has its volume elsewhere than on {self.name}"
                return Reason(VOLUME_ELSEWHERE, sentence)
        return None

    def lack(self, needs: Mapping[str, int]) -> Reason | None:
        """Why kubelet would not let a pod with these requests in."""
        for name, amount in needs.items():
            if name in self.free and amount > self.free[name]:
                has, wanted = written(name, self.free[name]), written(name, amount)
                sentence = f"{self.name} has {has} of {name} left, and the pod requests {wanted}"
                return Reason(NODE_FULL, sentence)
            if self.free and is_plugged(name) and name not in self.free:
                return Reason(NODE_FULL, f"{self.name} has no {name}")
        return None

    def take(self, needs: Mapping[str, int]) -> None:
        """Others of the gang come after this one."""
        for name, amount in needs.items():
            if name in self.free:
                self.free[name] -= amount
