"""Which job arrays are read now, and which later: one costs as much as all of its tasks."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from windlass.slurm.model import Job
from windlass.values.clock import Clock, Seconds


def number_of(key: str) -> str:
    """The number by which a job is read; the tasks that wait, `12_3`, have that of their array."""
    return key.partition("_")[0]


@dataclass(slots=True)
class Arrays:
    clock: Clock
    rarely: int
    """An array is read for at most one part in so many of the time."""
    _next: dict[str, Seconds] = field(default_factory=dict)
    """From when on an array may be read again."""
    _late: set[str] = field(default_factory=set)
    """Those of which something has changed since they were read."""

    def due(self, keys: Iterable[str]) -> list[str]:
        """The numbers to read now so that these jobs are known, those put off before among them."""
        now = self.clock.monotonic()
        self._next = {number: at for number, at in self._next.items() if at > now}
        wanted = dict.fromkeys([*map(number_of, keys), *self._late])
        found = [number for number in wanted if number not in self._next]
        self._late = set(wanted).difference(found)
        return found

    def late(self, key: str) -> bool:
        return number_of(key) in self._late

    def was_read(self, number: str, records: Collection[Job], began: float) -> None:
        if len(records) < 2:
            return
        now = self.clock.monotonic()
        self._next[number] = Seconds(now + (now - began) * self.rarely)

    def all_read(self) -> None:
        self._late.clear()
