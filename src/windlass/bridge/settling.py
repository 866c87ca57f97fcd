"""What pods that belong to their nodes take there, without the ups and downs of their updates.

More counts at once. Less counts when it has stayed so for a while: a daemon that is being replaced
comes back, and a node need not be made anew for it.
"""

from collections.abc import Mapping
from typing import Final

PATIENCE: Final = 600.0


class Settling:
    def __init__(self) -> None:
        self._counted: dict[str, tuple[Mapping[str, int], float | None]] = {}
        """By node: what counts, and since when there has been less."""

    def count(self, node: str, found: Mapping[str, int], now: float) -> Mapping[str, int]:
        """What counts now of what was found."""
        before, since = self._counted.get(node, (found, None))
        if all(found.get(name, 0) >= amount for name, amount in before.items()):
            self._counted[node] = found, None
            return found
        since = now if since is None else since
        if now - since >= PATIENCE:
            self._counted[node] = found, None
            return found
        most = {name: max(before.get(name, 0), found.get(name, 0)) for name in {**before, **found}}
        self._counted[node] = most, since
        return most

    def due(self, now: float) -> float | None:
        """Seconds until something has been less for long enough."""
        waits = [since + PATIENCE - now for _, since in self._counted.values() if since is not None]
        return max(0.0, min(waits)) if waits else None

    def keep(self, nodes: Mapping[str, object]) -> None:
        """Forget all nodes but these."""
        for name in [name for name in self._counted if name not in nodes]:
            del self._counted[name]
