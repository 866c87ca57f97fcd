"""Every call of slurmctld's half of the API that Windlass makes, each as a plain Request.

`since` in the lists is the `as_of` of the listing you have: the answer is None if nothing changed.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from windlass.slurm import codec, wire
from windlass.slurm.call import Request, segment
from windlass.slurm.errors import Errno, Fault, error_for
from windlass.slurm.model import (
    BriefJob,
    Conf,
    Job,
    License,
    Listing,
    Node,
    NodeAllocation,
    Outcome,
    Partition,
    Ping,
    Reservation,
    Share,
    Submitted,
)
from windlass.slurm.specs import (
    JobSpec,
    NodesUpdate,
    NodeUpdate,
    PartitionSpec,
    ReservationSpec,
    Submission,
)
from windlass.slurm.statistics import Diag
from windlass.slurm.versions import Feature

NO_JOB: Final = frozenset({int(Errno.ESLURM_INVALID_JOB_ID)})
NOT_RUNNING: Final = NO_JOB | {int(Errno.ESLURM_JOB_NOT_RUNNING)}
NOT_SIGNALLED: Final = frozenset({int(Errno.EPERM)})
"""What slurmrestd says of a cancel that slurmctld did not hear."""
NO_NODE: Final = frozenset({int(Errno.ESLURM_INVALID_NODE_NAME)})
NO_PARTITION: Final = frozenset({int(Errno.ESLURM_INVALID_PARTITION_NAME)})
NO_RESERVATION: Final = frozenset({int(Errno.ESLURM_RESERVATION_INVALID)})


def _since(instant: int | None) -> tuple[tuple[str, str], ...]:
    return () if instant is None else (("update_time", str(instant)),)


# --- The controller ------------------------------------------------------------------------


def ping() -> Request[tuple[Ping, ...]]:
    return Request("GET", "/ping/", wire.PingsAnswer, codec.pings, safe=True)


def diag() -> Request[Diag]:
    return Request("GET", "/diag/", wire.DiagAnswer, codec.diag, safe=True)


def conf() -> Request[Conf]:
    feature = Feature.READ_CONF
    return Request("GET", "/conf", wire.ConfAnswer, codec.conf, feature=feature, safe=True)


def reconfigure() -> Request[None]:
    """Have slurmctld read its files again. A GET that changes something: never sent twice."""
    return Request("GET", "/reconfigure/", wire.Answer, codec.done)


def licenses() -> Request[tuple[License, ...]]:
    return Request("GET", "/licenses/", wire.LicensesAnswer, codec.licenses, safe=True)


def shares() -> Request[tuple[Share, ...]]:
    return Request("GET", "/shares", wire.SharesAnswer, codec.shares, safe=True)


# --- Nodes ---------------------------------------------------------------------------------


def nodes(since: int | None = None) -> Request[Listing[Node] | None]:
    query = _since(since)
    return Request("GET", "/nodes/", wire.NodesAnswer, codec.nodes, query=query, safe=True)


def node(name: str) -> Request[Node]:
    """One node. What is allocated on it is as old as the last list that anybody asked for."""
    path = f"/node/{segment(name)}"
    return Request("GET", path, wire.NodesAnswer, codec.one_node, absent=NO_NODE, safe=True)


def update_node(name: str, update: NodeUpdate) -> Request[None]:
    path = f"/node/{segment(name)}"
    return Request("POST", path, wire.Answer, codec.done, update, absent=NO_NODE)


def update_nodes(names: Iterable[str], update: NodeUpdate) -> Request[None]:
    """The same change to many nodes, or hostlists of nodes, in one call.

    One unknown name and nothing is changed; one impossible transition and the others are changed
    although the call is refused.
    """
    body = NodesUpdate(tuple(names), update)
    return Request("POST", "/nodes/", wire.Answer, codec.done, body, absent=NO_NODE)


def create_nodes(line: str) -> Request[None]:
    """Nodes as slurm.conf would describe them: `NodeName=w-[0-9] CPUs=4 State=EXTERNAL`."""
    body = {"node_conf": line}
    feature = Feature.CREATE_NODES
    return Request("POST", "/new/node/", wire.Answer, codec.done, body, feature=feature)


def delete_node(name: str) -> Request[None]:
    path = f"/node/{segment(name)}"
    return Request("DELETE", path, wire.Answer, codec.done, absent=NO_NODE)


# --- Jobs ----------------------------------------------------------------------------------


def jobs(since: int | None = None) -> Request[Listing[Job] | None]:
    """Every job with everything: dear. `job_states` is the cheap way to know of changes."""
    query = _since(since)
    return Request("GET", "/jobs/", wire.JobsAnswer, codec.jobs, query=query, safe=True)


def job(job_id: int | str) -> Request[Job]:
    """One job that is no array."""
    path = f"/job/{job_id}"
    return Request("GET", path, wire.JobsAnswer, codec.one_job, absent=NO_JOB, safe=True)


def job_records(job_id: int | str) -> Request[tuple[Job, ...]]:
    """One job, or one task of an array that has a number of its own.

    By the number of an array: every task that has begun, ended ones too, and one for the rest.
    """
    path = f"/job/{job_id}"
    return Request("GET", path, wire.JobsAnswer, codec.job_records, absent=NO_JOB, safe=True)


def job_states(*job_ids: int | str) -> Request[tuple[BriefJob, ...]]:
    """All jobs or these, less those that are not there. slurmrestd 26.05 answers a list of ids with
    HTTP 500, but takes the parameter several times."""
    query = tuple(("job_id", str(job_id)) for job_id in job_ids)
    path, answer = "/jobs/state/", wire.JobStatesAnswer
    return Request("GET", path, answer, codec.job_states, query=query, safe=True)


def submit(spec: JobSpec) -> Request[Submitted]:
    body = Submission(spec)
    return Request("POST", "/job/submit", wire.SubmitAnswer, codec.submitted, body)


def update_job(job_id: int, spec: JobSpec) -> Request[None]:
    path = f"/job/{job_id}"
    return Request("POST", path, wire.UpdateAnswer, _updated, spec, absent=NO_JOB)


def cancel(job_id: int, signal: str | None = None) -> Request[None]:
    """Cancel a job, or send it a signal such as "USR1". A job that has ended is a success.

    Send it only in the name of somebody who may: a slurmctld 26.05.5 that has to deny it keeps its
    locks, and answers nobody about jobs until it is started again.
    """
    query = () if signal is None else (("signal", signal),)
    path, answer, silence = f"/job/{job_id}", wire.KillAnswer, NOT_SIGNALLED
    return Request("DELETE", path, answer, _cancelled, query=query, absent=NO_JOB, silence=silence)


def cancel_jobs(job_ids: Iterable[int], signal: str | None = None) -> Request[tuple[Outcome, ...]]:
    """Cancel many; the answer names those that could not be."""
    body: dict[str, object] = {"jobs": [str(job_id) for job_id in job_ids]}
    if signal is not None:
        body["signal"] = signal
    path, answer, silence = "/jobs/", wire.KillAnswer, NOT_SIGNALLED
    return Request("DELETE", path, answer, codec.killed, body, silence=silence)


def requeue(job_id: int, *, hold: bool = False) -> Request[None]:
    """Put a batch job back into the queue. A GET that changes something: never sent twice."""
    query = (("Hold", "true"),) if hold else ()
    path, answer = f"/job/{job_id}/requeue", wire.RequeueAnswer
    feature = Feature.REQUEUE
    return Request("GET", path, answer, _requeued, query=query, absent=NO_JOB, feature=feature)


def requeue_jobs(job_ids: Iterable[int]) -> Request[tuple[Outcome, ...]]:
    body = {"jobs": [str(job_id) for job_id in job_ids]}
    path, answer = "/jobs/requeue", wire.RequeueManyAnswer
    return Request("POST", path, answer, codec.requeued_many, body, feature=Feature.REQUEUE)


def resources(job_id: int) -> Request[tuple[NodeAllocation, ...]]:
    """What a job holds on each of its nodes, in their order; Absent where it does not run."""
    path, answer, absent = f"/resources/{job_id}", wire.ResourcesAnswer, NOT_RUNNING
    feature = Feature.JOB_RESOURCES
    return Request("GET", path, answer, codec.resources, absent=absent, feature=feature, safe=True)


def _raise_first(outcomes: Sequence[Outcome]) -> None:
    """For calls about one job: slurmrestd reports its refusal inside a success."""
    for outcome in outcomes:
        if outcome.errno not in (0, Errno.ESLURM_ALREADY_DONE):
            fault = Fault(outcome.errno, outcome.error, f"job {outcome.job}")
            raise error_for(fault, absent=NO_JOB, safe=False)


def _cancelled(answer: wire.KillAnswer) -> None:
    _raise_first(codec.killed(answer))


def _updated(answer: wire.UpdateAnswer) -> None:
    _raise_first(codec.updated(answer))


def _requeued(answer: wire.RequeueAnswer) -> None:
    _raise_first(codec.requeued(answer))


# --- Partitions and reservations -----------------------------------------------------------


def partitions(since: int | None = None) -> Request[Listing[Partition] | None]:
    path, query = "/partitions/", _since(since)
    return Request("GET", path, wire.PartitionsAnswer, codec.partitions, query=query, safe=True)


def partition(name: str) -> Request[Partition]:
    path, answer = f"/partition/{segment(name)}", wire.PartitionsAnswer
    return Request("GET", path, answer, codec.one_partition, absent=NO_PARTITION, safe=True)


def write_partition(spec: PartitionSpec) -> Request[None]:
    """Create a partition, or change the one of that name."""
    feature = Feature.WRITE_PARTITIONS
    return Request("POST", "/partitions/", wire.Answer, codec.done, spec, feature=feature)


def delete_partition(name: str) -> Request[None]:
    path, feature = f"/partition/{segment(name)}", Feature.WRITE_PARTITIONS
    absent = NO_PARTITION
    return Request("DELETE", path, wire.Answer, codec.done, absent=absent, feature=feature)


def reservations(since: int | None = None) -> Request[Listing[Reservation] | None]:
    path, answer, query = "/reservations/", wire.ReservationsAnswer, _since(since)
    return Request("GET", path, answer, codec.reservations, query=query, safe=True)


def reservation(name: str) -> Request[Reservation]:
    path, answer = f"/reservation/{segment(name)}", wire.ReservationsAnswer
    # Where there are other reservations slurmrestd calls the unknown name an invalid query.
    absent = NO_RESERVATION | {int(Errno.ESLURM_REST_INVALID_QUERY)}
    return Request("GET", path, answer, codec.one_reservation, absent=absent, safe=True)


def write_reservation(spec: ReservationSpec) -> Request[None]:
    """Create a reservation, or change the one of that name."""
    feature = Feature.WRITE_RESERVATIONS
    return Request("POST", "/reservation", wire.Answer, codec.done, spec, feature=feature)


def delete_reservation(name: str) -> Request[None]:
    path = f"/reservation/{segment(name)}"
    return Request("DELETE", path, wire.Answer, codec.done, absent=NO_RESERVATION)
