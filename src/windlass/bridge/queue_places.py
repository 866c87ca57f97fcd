"""How many jobs come before each that waits; counted for all at once, now and then."""

from collections.abc import Iterable

from windlass.slurm.model import Job
from windlass.values.clock import Instant, Seconds

EVERY = Seconds(5.0)


class QueuePlaces:
    def __init__(self) -> None:
        self._counted_at: Instant | None = None
        self._ahead: dict[int, int] = {}

    def ahead(self, job: int, jobs: Iterable[Job], now: Instant) -> int | None:
        if self._counted_at is None or not 0 <= now - self._counted_at < EVERY:
            self._counted_at, self._ahead = now, count(jobs)
        return self._ahead.get(job)


def count(jobs: Iterable[Job]) -> dict[int, int]:
    """In each partition by priority, then by number."""
    queues: dict[str, list[Job]] = {}
    for job in jobs:
        if job.state.pending:
            queues.setdefault(job.partition, []).append(job)
    found: dict[int, int] = {}
    for queue in queues.values():
        queue.sort(key=lambda job: (-(job.priority or 0), job.id))
        found |= {job.id: place for place, job in enumerate(queue)}
    return found
