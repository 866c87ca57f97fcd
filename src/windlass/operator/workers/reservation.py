"""The maintenance reservation of a NodeSet with ScheduledUpdate: what it is to be, and what became
of it.

The condition `ReservationCreated` remembers in its message which schedule was carried out, so that
a reservation that is over, or that an administrator removed, is not made again.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from windlass.api import durations
from windlass.api.common import Condition
from windlass.api.node_set import NodeSet
from windlass.operator.conditions import Verdict
from windlass.slurm.model import Reservation
from windlass.values.hostlist import expand
from windlass.values.malformed import Malformed
from windlass.values.reason import Reason

PREFIX: Final = "SlurmOperatorMaint-"
CONDITION: Final = "ReservationCreated"
ALWAYS: Final = ("MAINT", "IGNORE_JOBS")
STEPS: Final = {
    "HOURLY": 3600,
    "DAILY": 86_400,
    "WEEKDAY": 86_400,
    "WEEKEND": 86_400,
    "WEEKLY": 604_800,
}
"""Flags with which Slurm moves a reservation on when it is over, and by how many seconds."""
ADVANCING: Final = frozenset({"HOURLY", "DAILY", "WEEKLY"})
"""Of those, the ones whose next start is known without Slurm's calendar."""
NEAR: Final = 60
"""Slurm moves a start that is just over to now."""


@dataclass(frozen=True, slots=True)
class Schedule:
    name: str
    starts_at: int
    minutes: int
    flags: tuple[str, ...]

    def __str__(self) -> str:
        begin = f"{datetime.fromtimestamp(self.starts_at, UTC):%Y-%m-%dT%H:%M:%SZ}"
        return f"{self.name} from {begin} for {self.minutes} minutes with {','.join(self.flags)}"

    @property
    def recurrence(self) -> frozenset[str]:
        return frozenset(self.flags) & STEPS.keys()

    @property
    def step(self) -> int | None:
        """Seconds from one start to the next; None where there is one only."""
        return min((STEPS[flag] for flag in self.recurrence), default=None)

    def next_start(self, now: int) -> int | None:
        """When Slurm can be asked to begin; None where that is over."""
        if self.starts_at > now or "FORCE_START" in self.flags:
            return self.starts_at
        if self.step is None or not self.recurrence & ADVANCING:
            return None
        return self.starts_at + self.step * (1 + (now - self.starts_at) // self.step)

    def agrees(self, with_: Reservation) -> bool:
        """Whether a reservation is what is wanted, as far as Slurm shows it."""
        starts, ends = with_.starts_at or 0, with_.ends_at or 0
        apart = starts - self.starts_at
        off = abs(apart) if self.step is None else min(apart % self.step, -apart % self.step)
        return (
            set(ALWAYS) <= with_.flags
            and with_.flags & STEPS.keys() == self.recurrence
            and (ends - starts) // 60 == self.minutes
            and off <= NEAR
        )


def reservation_name(node_set: str) -> str:
    return f"{PREFIX}{node_set}"


def schedule(node_set: NodeSet) -> Schedule | None:
    """What is wanted; None where the set wants no reservation."""
    strategy = node_set.spec.update_strategy
    given = strategy.scheduled_update
    empty = node_set.spec.scaling_mode == "StatefulSet" and node_set.spec.replicas == 0
    if strategy.type != "ScheduledUpdate" or given is None or given.start_time is None or empty:
        return None
    flags = dict.fromkeys([*ALWAYS, *(flag.upper() for flag in given.flags or ())])
    return Schedule(
        reservation_name(node_set.metadata.name),
        int(given.start_time.timestamp()),
        max(1, math.ceil(durations.seconds(given.duration) / 60)),
        tuple(flags),
    )


def reserved(reservations: Mapping[str, Reservation], node_set: str) -> frozenset[str]:
    """Nodes that others have reserved, now or later."""
    own = reservation_name(node_set)
    return frozenset(
        node for name, each in reservations.items() if name != own for node in nodes_of(each)
    )


def nodes_of(reservation: Reservation) -> frozenset[str]:
    try:
        return frozenset(expand(reservation.nodes)) if reservation.nodes else frozenset()
    except Malformed:
        return frozenset()


# --- What is remembered ----------------------------------------------------------------------


def memory(node_set: NodeSet) -> Condition | None:
    found = (each for each in node_set.status.conditions or () if each.type == CONDITION)
    return next(found, None)


def remembered(node_set: NodeSet) -> tuple[Verdict, ...]:
    """The condition as it is: where nothing new is known, or it would be forgotten."""
    old = memory(node_set)
    if old is None:
        return ()
    status = {"True": True, "False": False}.get(old.status)
    return (Verdict(CONDITION, status, Reason(old.reason, old.message)),)
