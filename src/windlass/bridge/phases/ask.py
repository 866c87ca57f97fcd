"""A gang without a job is submitted; one whose job waits has it kept as it is to be."""

from windlass.bridge import submission
from windlass.bridge.gang import Gang
from windlass.bridge.observed import Observed, SlurmSide
from windlass.bridge.plan import EndJob, Outcome, Submit, Target, UpdateJob
from windlass.bridge.standing import Standing
from windlass.bridge.submission import Nodes
from windlass.slurm.specs import JobSpec
from windlass.values.reason import Reason


def wanted(seen: Observed, gang: Gang, nodes: Nodes) -> JobSpec | Reason:
    """The job that a gang is to have, or why it can have none."""
    problems = [*gang.problems, *seen.verdict.problems]
    if problems:
        return Reason("Refused", "; ".join(str(each) for each in problems))
    if waits := gang.waits or seen.storage.waits:
        return waits
    return submission.job(gang, seen.settings, seen.verdict.identity, nodes)


def ask(
    seen: Observed, slurm: SlurmSide, at: Standing, spec: JobSpec
) -> Submit | UpdateJob | EndJob | None:
    assert seen.gang is not None
    if at.current is None:
        return None if slurm.submit_in > 0 else _submit(seen, spec)
    job, marker = at.current.job, at.current.marker
    if not job.state.pending:
        return None
    digest = submission.digest(spec)
    if marker.digest == digest:
        return None
    if submission.updatable(marker.digest, digest):
        return UpdateJob(job.id, submission.update(spec))
    return EndJob(job.id, Outcome("it is asked for anew, since what it is for has changed"))


def _submit(seen: Observed, spec: JobSpec) -> Submit:
    assert seen.gang is not None
    marker = submission.marker(seen.gang, seen.settings, submission.digest(spec))
    pods = tuple(
        Target(member.pod, member.uid) for member in seen.gang.members if member.pod is not None
    )
    return Submit(marker, spec, pods)
