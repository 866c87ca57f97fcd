"""Whether a node of Kubernetes can take a pod right now, whatever Slurm has room for. Pure.

Slurm is told beforehand where a pod may run, and what others take of a node. Between its start and
the binding things may have changed; a kubelet would let the pod fail.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from windlass.bridge.ports import HostPort
from windlass.values.key import Key
from windlass.values.reason import Reason

PORT_TAKEN: Final = "PortTaken"
UNSUITABLE: Final = frozenset({PORT_TAKEN})
"""Reasons for which another node might do."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A node, as far as the pods concern it that are to be bound there."""

    ports: Mapping[HostPort, Key] = field(default_factory=dict)
    """Who has the ports that they want."""


def unsuitable(node: str, ground: Ground, ports: tuple[HostPort, ...]) -> Reason | None:
    for port in ports:
        if taker := ground.ports.get(port):
            return Reason(PORT_TAKEN, f"pod {taker} has port {port} of {node}")
    return None
