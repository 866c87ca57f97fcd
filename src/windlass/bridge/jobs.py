"""Our jobs in Slurm, found by the gang that they are for; work for each change, not each job."""

from collections.abc import Iterator
from dataclasses import dataclass

from windlass.bridge import marker
from windlass.bridge.gang import GangKey
from windlass.bridge.marker import Marker
from windlass.slurm.model import Job
from windlass.slurm.table import Change


@dataclass(frozen=True, slots=True)
class Ours:
    """A job that this cluster's bridge submitted."""

    job: Job
    marker: Marker

    @property
    def alive(self) -> bool:
        return not self.job.state.ended


class OurJobs:
    """Kept up by `take`; the rest of Slurm's jobs is of no concern."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._by_key: dict[GangKey, dict[int, Ours]] = {}
        self._keys: dict[int, GangKey] = {}

    def take(self, change: Change[Job]) -> Iterator[GangKey]:
        """Note a change, and answer which gangs it concerns."""
        item = change.after or change.before
        if item is None:
            return
        before = self._keys.pop(item.id, None)
        if before is not None:
            self._by_key[before].pop(item.id, None)
            if not self._by_key[before]:
                del self._by_key[before]
            yield before
        found = change.after and marker.ours(change.after, self._cluster)
        if change.after and found:
            self._keys[item.id] = found.key
            self._by_key.setdefault(found.key, {})[item.id] = Ours(change.after, found)
            if found.key != before:
                yield found.key

    def of(self, key: GangKey) -> tuple[Ours, ...]:
        """By number, the oldest first."""
        found = self._by_key.get(key, {})
        return tuple(found[number] for number in sorted(found))

    def get(self, number: int) -> Ours | None:
        key = self._keys.get(number)
        return None if key is None else self._by_key[key].get(number)

    def keys(self) -> list[GangKey]:
        return list(self._by_key)
