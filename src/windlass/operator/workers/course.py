"""A pass over a NodeSet: what is given to every phase, and what each adds.

    observed ─> phase ─> phase ─> ... ─> one Outcome ─> Plan

A phase sees what those before it found. Of two that want the same of a worker the first one's
reason stands.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeAlias

from windlass.operator.conditions import Verdict
from windlass.operator.plan import Action
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.facts import finished, going
from windlass.operator.workers.identity import Identity
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.pod import Mould
from windlass.operator.workers.worker import Worker
from windlass.values.reason import Reason

NONE: Final[Mapping[str, Reason]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    actions: tuple[Action, ...] = ()
    leave: Mapping[str, Reason] = field(default_factory=lambda: NONE)
    """By the name of a pod: why it is to go, as soon as no job can be in it."""
    drain: Mapping[str, Reason] = field(default_factory=lambda: NONE)
    """By the name of a pod: why no new job is to start there. Whoever is to leave is drained."""
    if_idle: frozenset[str] = frozenset()
    """Of those to leave, who was chosen before others since no job was there: if one has come, the
    choice is made anew."""
    make: tuple[Identity, ...] = ()
    """The workers to make."""
    waits: tuple[Reason, ...] = ()
    """What is not done yet, and for what it waits; the most important first."""
    faults: tuple[Reason, ...] = ()
    """What somebody must do something about."""
    verdicts: tuple[Verdict, ...] = ()
    """Conditions of the set that this phase alone knows of."""
    again: float | None = None
    """Seconds until something is due by itself."""

    def __add__(self, later: "Outcome") -> "Outcome":
        return Outcome(
            actions=self.actions + later.actions,
            leave={**later.leave, **self.leave},
            drain={**later.drain, **self.drain},
            if_idle=self.if_idle | later.if_idle,
            make=self.make + later.make,
            waits=self.waits + later.waits,
            faults=self.faults + later.faults,
            verdicts=self.verdicts + later.verdicts,
            again=soonest(self.again, later.again),
        )


NOTHING: Final = Outcome()


@dataclass(frozen=True, slots=True)
class Pass:
    observed: Observed
    now: datetime
    revision: str
    shape: Mould
    workers: tuple[Worker, ...]
    found: Outcome = NOTHING
    """What the phases before this one found."""

    @property
    def slurm(self) -> Seen | None:
        return self.observed.slurm

    @property
    def staying(self) -> tuple[Worker, ...]:
        """The workers that live, and that nothing takes away so far."""
        return tuple(
            each
            for each in self.workers
            if not (going(each.pod) or finished(each.pod))
            and each.pod.metadata.name not in self.found.leave
        )


Phase: TypeAlias = Callable[[Pass], Outcome]


def run(phases: Iterable[Phase], course: Pass) -> Outcome:
    for phase in phases:
        course = replace(course, found=course.found + phase(course))
    return course.found


def soonest(*moments: float | None) -> float | None:
    return min((moment for moment in moments if moment is not None), default=None)
