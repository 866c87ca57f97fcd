"""The course of a gang, in one place: from what was observed to what is done about it. Pure."""

from windlass.bridge.gang import Gang
from windlass.bridge.observed import Observed, SlurmSide
from windlass.bridge.phases import group as group_phase
from windlass.bridge.phases.ask import ask, wanted
from windlass.bridge.phases.bind import Binding, bind, unbound
from windlass.bridge.phases.end import end
from windlass.bridge.phases.explain import Told, explain, queued
from windlass.bridge.phases.give_back import give_back
from windlass.bridge.phases.gone import gone
from windlass.bridge.phases.mark import mark
from windlass.bridge.phases.release import release
from windlass.bridge.plan import Action, Plan
from windlass.bridge.standing import Standing, standing
from windlass.slurm.model import Job
from windlass.values.reason import Reason

SOON = 1.0
"""Seconds until it is tried again what nothing wakes us for."""
SHORTLY = 0.3
CLAIMS = 3.0
CLAIMS_WITH_A_JOB = 30.0


def decide(seen: Observed) -> Plan:
    """Where Slurm did not answer nothing is done: what is unknown is waited for."""
    slurm = seen.slurm
    if slurm is None:
        return Plan()
    at = standing(seen, slurm)
    deletions, ends = tuple(gone(seen, slurm, at)), tuple(end(seen, at))
    holding: tuple[Action, ...] = (*release(seen, slurm), *mark(seen, slurm))
    stages: list[tuple[Action, ...]] = [deletions, holding, ends]
    ending = {each.job for each in ends}
    if seen.gang is None or deletions or (at.current and at.current.job.id in ending):
        return _plan(stages)
    if at.current is not None and at.current.job.state.running:
        return _running(seen, slurm, at, stages)
    return _waiting(seen, seen.gang, slurm, at, stages)


def _running(
    seen: Observed, slurm: SlurmSide, at: Standing, stages: list[tuple[Action, ...]]
) -> Plan:
    assert at.current is not None
    job = at.current.job
    binding: Binding = bind(seen, slurm, job)
    if returned := give_back(seen, job, binding):
        return _plan([*stages, (returned,)])
    told = explain(seen, () if job.id in seen.unseen else binding.waiting)
    again = SOON if binding.waiting else None
    group = () if binding.waiting else group_phase.scheduled(seen, seen.settings.scheduler)
    return _plan([*stages, binding.claims, binding.seats, told.actions, group], again, told.again)


def _waiting(
    seen: Observed, gang: Gang, slurm: SlurmSide, at: Standing, stages: list[tuple[Action, ...]]
) -> Plan:
    if at.current is None and not any(unbound(seen)):
        return _plan(stages)  # all have a place of a job that was for them and for others
    spec = wanted(seen, gang, slurm.nodes)
    if isinstance(spec, Reason):
        told = _tell(seen, _stuck(at, spec) if at.current else spec)
        group = group_phase.waits(seen, told.actions)
        return _plan([*stages, told.actions, group], told.again, _unwatched(seen))
    asked = ask(seen, slurm, at, spec)
    if at.current is None:
        return _plan(
            [*stages, (asked,) if asked else ()], None if asked else max(slurm.submit_in, SHORTLY)
        )
    told = _tell(seen, queued(at.current.job, slurm), at.current.job)
    group = group_phase.waits(seen, told.actions)
    stages = [*stages, (asked,) if asked else (), told.actions, group]
    return _plan(stages, told.again, _unwatched(seen))


def _unwatched(seen: Observed) -> float | None:
    """Nothing wakes us for claims."""
    if seen.storage.waits:
        return CLAIMS
    return CLAIMS_WITH_A_JOB if seen.storage.unsettled else None


def _stuck(at: Standing, reason: Reason) -> Reason:
    """The job that waits is as it was asked for before."""
    assert at.current is not None
    sentence = f"Slurm job {at.current.job.id} waits as it was submitted, since {reason.sentence}"
    return Reason(reason.code, sentence)


def _tell(seen: Observed, reason: Reason, job: Job | None = None) -> Told:
    return explain(seen, ((pod, reason) for pod in unbound(seen)), job)


def _plan(stages: list[tuple[Action, ...]], *again: float | None) -> Plan:
    times = [each for each in again if each is not None]
    return Plan(tuple(stage for stage in stages if stage), min(times, default=None))
