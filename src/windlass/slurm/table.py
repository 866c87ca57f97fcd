"""What is known of one kind of thing, how old that is, and what a newer reading changes. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from msgspec import Struct, structs

from windlass.slurm.model import Job, Node
from windlass.values.clock import Instant

T = TypeVar("T", bound=Struct)


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One name whose object came, went or became different."""

    name: str
    before: T | None
    after: T | None

    @property
    def came(self) -> bool:
        return self.before is None

    @property
    def went(self) -> bool:
        return self.after is None


VOLATILE: Final[Mapping[type[Struct], Mapping[str, object]]] = {
    Node: {"cpu_load": 0, "memory_free": None, "last_busy_at": None}
}
"""Fields that move by themselves: kept up to date, but no reason to wake anybody."""


def differs(before: T, after: T) -> bool:
    if before == after:
        return False
    still = VOLATILE.get(type(before))
    return still is None or structs.replace(before, **still) != structs.replace(after, **still)


def changes(before: Mapping[str, T], after: Mapping[str, T]) -> list[Change[T]]:
    """From one reading to the next, in the order of the newer one; what went comes last."""
    found = [
        Change(name, before.get(name), item)
        for name, item in after.items()
        if name not in before or differs(before[name], item)
    ]
    gone = [Change(name, item, None) for name, item in before.items() if name not in after]
    return found + gone


@dataclass(slots=True)
class Table(Generic[T]):
    """The last reading of one kind. Look at `unknown_since` before you trust it."""

    items: dict[str, T] = field(default_factory=dict)
    as_of: Instant | None = None
    """When the last reading that succeeded was asked for; None before the first."""
    unknown_since: Instant | None = None
    """Set while Slurm does not answer: nothing is known of the time after it."""
    since: int | None = None
    """The instant by Slurm's clock from which to ask for changes; None asks for everything."""

    @property
    def known(self) -> bool:
        """Whether it was read, and every question since then was answered."""
        return self.as_of is not None and self.unknown_since is None

    def replace(self, items: Mapping[str, T], asked_at: Instant) -> list[Change[T]]:
        """Take a whole new reading and return what it changes."""
        found = changes(self.items, items)
        self.items = dict(items)
        self.confirm(asked_at)
        return found

    def merge(
        self, items: Mapping[str, T], gone: Iterable[str], asked_at: Instant
    ) -> list[Change[T]]:
        """Take a reading of some objects, and that others have gone."""
        without = set(gone)
        before = {name: self.items[name] for name in (*items, *without) if name in self.items}
        found = changes(before, items)
        kept = self.items
        if without:
            kept = {name: item for name, item in kept.items() if name not in without}
        self.items = {**kept, **items}
        self.confirm(asked_at)
        return found

    def patch(self, items: Mapping[str, T]) -> list[Change[T]]:
        """Take a reading of some objects that says nothing of the others; it costs nothing for
        those, so they may be many."""
        found = changes({name: self.items[name] for name in items if name in self.items}, items)
        self.items.update(items)
        return found

    def confirm(self, asked_at: Instant) -> None:
        """Slurm says that nothing has changed."""
        self.as_of, self.unknown_since = asked_at, None

    def lose(self, now: Instant) -> None:
        """Slurm does not answer; once it does again, everything is read anew."""
        if self.unknown_since is None:
            self.unknown_since = self.as_of if self.as_of is not None else now
        self.since = None


def by_name(key: Callable[[T], str], items: Iterable[T]) -> dict[str, T]:
    return {key(item): item for item in items}


# --- Jobs ----------------------------------------------------------------------------------


def job_keys(job: Job) -> tuple[str, ...]:
    """The names by which `jobs/state` speaks of this record: one for each task of an array.

    A task that has a record of its own is named by the number of that, not by that of its array.
    """
    if job.array_job_id is None:
        return (str(job.id),)
    if job.array_task_id is not None:
        return (f"{job.id}_{job.array_task_id}",)
    return tuple(f"{job.id}_{task}" for task in array_tasks(job.array_tasks))


def array_tasks(text: str) -> list[int]:
    """The numbers of an array expression: `0-3,7,10-20:5%2`."""
    numbers: list[int] = []
    for part in text.partition("%")[0].split(","):
        bounds, _, step = part.partition(":")
        first, _, last = bounds.partition("-")
        if first.isdecimal():
            numbers += range(int(first), int(last or first) + 1, int(step or 1))
    return numbers
