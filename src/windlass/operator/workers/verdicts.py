"""The conditions of a NodeSet, each with what it waits for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from windlass.api.node_set import NodeSet
from windlass.kube.objects import Pod
from windlass.operator.conditions import Verdict
from windlass.operator.judgement import FINE, SETTLED, broken, underway
from windlass.operator.pods.trouble import troubles
from windlass.operator.workers.conf import doubts
from windlass.operator.workers.decisions import Decisions
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.refusing import Refusal
from windlass.values.reason import Reason

BEST_EFFORT: Final = Reason(
    "BestEffortWorkers",
    "workers have neither limits nor requests, so a task that takes all memory can cost a job its "
    "slurmstepd instead of itself; set slurmd.resources.limits",
)
SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Judged:
    """What a pass found out about the set as a whole."""

    revision: str
    decided: Decisions
    refused: Refusal | None = None
    best_effort: bool = False


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
    return judge(reason, available=serves)


def _served(observed: Observed, judged: Judged, counts: Counts) -> list[Verdict]:
    wanted = observed.node_set.spec.replicas
    counted = Reason("Counted", f"{counts.available} of {wanted} workers are available")
    fault = next(faults(observed, judged.decided), None)
    progress = _progress(observed, judged.decided, counts)
    ready = counts.ready >= wanted
    return [
        Verdict("Ready", ready, counted if ready else fault or progress or counted),
        Verdict("Available", counts.available > 0 or wanted == 0, counted),
        Verdict("Progressing", progress is not None, progress or SETTLED),
        Verdict(
            "Degraded", fault is not None, fault or (BEST_EFFORT if judged.best_effort else FINE)
        ),
    ]


def waiting(observed: Observed, decided: Decisions) -> Reason | None:
    """What is not done yet because a job may be hurt, if there is nothing else to be done first."""
    if decided.make or decided.taken:
        return None
    return next(_waits(observed, decided), None)


def _waits(observed: Observed, decided: Decisions) -> Iterator[Reason]:
    until = "until Slurm says that their nodes are drained and idle"
    if observed.slurm is None:
        until += "; Slurm does not answer"
    if decided.scale_in_waits:
        number, named = len(decided.scale_in_waits), _named(decided.scale_in_waits)
        yield Reason("ScaleInWaiting", f"{number} workers too many ({named}) stay {until}")
    if decided.update_waits:
        number, named = len(decided.update_waits), _named(decided.update_waits)
        yield Reason("UpdateWaiting", f"{number} workers of an old revision ({named}) stay {until}")


def told(node_set: NodeSet, reason: Reason) -> bool:
    """The conditions remember what was told, so that each pass does not tell it again."""
    return any(each.reason == reason.code for each in node_set.status.conditions or ())


def _progress(observed: Observed, decided: Decisions, counts: Counts) -> Reason | None:
    wanted = observed.node_set.spec.replicas
    missing = len(decided.make) + decided.more
    if missing:
        return Reason("ScalingOut", f"{missing} of {wanted} workers are being made")
    if decided.taken:
        names = ", ".join(decided.taken[:SHOWN])
        return Reason("NameTaken", f"pods of others have the names of workers: {names}")
    wait = waiting(observed, decided)
    if wait is not None:
        return wait
    if decided.scale_in or decided.update or decided.replace:
        number = len(decided.scale_in) + len(decided.update) + len(decided.replace)
        return Reason("Removing", f"{number} workers without jobs are being removed")
    if counts.ready < wanted:
        return Reason("Starting", f"{counts.ready} of {wanted} workers are ready")
    return None


def faults(observed: Observed, decided: Decisions) -> Iterator[Reason]:
    """What keeps workers from working, the likeliest cause first."""
    for doubt in doubts(observed.node_set):
        yield Reason("ExtraConfDoubtful", str(doubt))
    stuck = [(pod, why) for pod in observed.pods if (why := next(troubles([pod]), None))]
    if stuck:
        pod, why = stuck[0]
        sentence = f"{len(stuck)} workers do not start, among them {pod.metadata.name}: {why}"
        yield Reason("WorkersFailing", sentence)
    if decided.taken:
        names = ", ".join(decided.taken[:SHOWN])
        yield Reason("NameTaken", f"pods of others have the names of workers: {names}")


def _named(pods: Sequence[Pod]) -> str:
    names = ", ".join(pod.metadata.name for pod in pods[:SHOWN])
    return names + (", ..." if len(pods) > SHOWN else "")
