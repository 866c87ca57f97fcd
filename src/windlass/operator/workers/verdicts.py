"""The conditions of a NodeSet, each with what it waits for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from windlass.api.node_set import NodeSet
from windlass.operator.conditions import Verdict
from windlass.operator.judgement import FINE, SETTLED, broken, underway
from windlass.operator.pods.trouble import troubles
from windlass.operator.workers.conf import doubts
from windlass.operator.workers.course import Outcome
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.refusing import Refusal
from windlass.operator.workers.reservation import remembered
from windlass.values.reason import Reason

BEST_EFFORT: Final = Reason(
    "BestEffortWorkers",
    "workers have neither limits nor requests, so a task that takes all memory can cost a job its "
    "slurmstepd instead of itself; set slurmd.resources.limits",
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a pass found out about the set as a whole."""

    revision: str
    found: Outcome
    refused: Refusal | None = None
    best_effort: bool = False
    lost: int | None = None
    """How many ready workers Slurm does not know; None where it does not answer."""
    collisions: int = 0
    """How often the name of a revision was taken by a different one."""


@dataclass(frozen=True, slots=True)
class Counts:
    replicas: int
    updated: int
    ready: int
    available: int


def verdicts(observed: Observed, judged: Judged, counts: Counts) -> Sequence[Verdict]:
    if judged.refused is None:
        return _served(observed, judged, counts)
    reason, serves = judged.refused.reason, counts.available > 0
    judge = underway if judged.refused.passes else broken
    return [*judge(reason, available=serves), *remembered(observed.node_set)]


def _served(observed: Observed, judged: Judged, counts: Counts) -> list[Verdict]:
    wanted = observed.desired
    counted = Reason("Counted", f"{counts.available} of {wanted} workers are available")
    fault = next(faults(observed, judged.found), None)
    progress = _progress(observed, judged.found, counts)
    ready = counts.ready >= wanted
    return [
        Verdict("Ready", ready, counted if ready else fault or progress or counted),
        Verdict("Available", counts.available > 0 or wanted == 0, counted),
        Verdict("Progressing", progress is not None, progress or SETTLED),
        Verdict(
            "Degraded", fault is not None, fault or (BEST_EFFORT if judged.best_effort else FINE)
        ),
        _registered(judged.lost),
        *judged.found.verdicts,
    ]


def _registered(lost: int | None) -> Verdict:
    """Also remembers since when workers are missing in Slurm."""
    if lost is None:
        reason = Reason("SlurmSilent", "Slurm does not answer")
    elif lost:
        sentence = f"{lost} workers are ready but Slurm does not know them"
        reason = Reason("SlurmNodeNotRegistered", sentence)
    else:
        reason = Reason("Registered", "Slurm knows all ready workers")
    return Verdict("Registered", status=None if lost is None else lost == 0, reason=reason)


def told(node_set: NodeSet, reason: Reason) -> bool:
    """The conditions remember what was told, so that each pass does not tell it again."""
    return any(each.reason == reason.code for each in node_set.status.conditions or ())


def _progress(observed: Observed, found: Outcome, counts: Counts) -> Reason | None:
    wanted = observed.desired
    if found.waits:
        return found.waits[0]
    if found.leave:
        return Reason("Removing", f"{len(found.leave)} workers without jobs are being removed")
    if counts.ready < wanted:
        return Reason("Starting", f"{counts.ready} of {wanted} workers are ready")
    return None


def faults(observed: Observed, found: Outcome) -> Iterator[Reason]:
    """What keeps workers from working, the likeliest cause first."""
    for doubt in doubts(observed.node_set):
        yield Reason("ExtraConfDoubtful", str(doubt))
    stuck = [(pod, why) for pod in observed.pods if (why := next(troubles([pod]), None))]
    if stuck:
        pod, why = stuck[0]
        sentence = f"{len(stuck)} workers do not start, among them {pod.metadata.name}: {why}"
        yield Reason("WorkersFailing", sentence)
    yield from found.faults
