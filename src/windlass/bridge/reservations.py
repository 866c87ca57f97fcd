"""Ports that pods are getting right now, before any watch shows that they have them.

Slurm puts jobs side by side. Two pods that want one port may be given the same node in the same
moment, and be decided about at the same time.
"""

from collections.abc import Callable
from typing import Final

from windlass.bridge.ports import HostPort, clash

KEPT: Final = 60.0
"""Seconds; what was not seen by then came to nothing."""


class Reservations:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._taken: dict[str, dict[str, tuple[tuple[HostPort, ...], float]]] = {}
        """By node and pod: which ports, and until when."""

    def take(self, uid: str, node: str, ports: tuple[HostPort, ...]) -> bool:
        """Whether nobody else is getting one of these."""
        if not ports:
            return True
        now, there = self._now(), self._taken.setdefault(node, {})
        for who, (_, until) in list(there.items()):
            if who == uid or until <= now:
                del there[who]
        others = [other for those, _ in there.values() for other in those]
        if any(clash(port, other) for port in ports for other in others):
            return False
        there[uid] = ports, now + KEPT
        return True

    def shown(self, uid: str, node: str) -> None:
        """The pod has been seen on its node, and is counted there."""
        there = self._taken.get(node, {})
        there.pop(uid, None)
        if not there:
            self._taken.pop(node, None)
