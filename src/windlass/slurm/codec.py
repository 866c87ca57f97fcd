"""From the wire to the model, for slurmctld's half of the API. Pure; requests.py picks readers."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from sys import intern
from typing import TypeVar

from msgspec import json, structs

from windlass.slurm import wire
from windlass.slurm.errors import Absent
from windlass.slurm.model import (
    UNLIMITED,
    BriefJob,
    Conf,
    ExitCode,
    GresAllocation,
    Instant,
    Job,
    License,
    Limit,
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
from windlass.slurm.statistics import Diag
from windlass.values.states import JobState, NodeState

T = TypeVar("T")

# --- Small shapes --------------------------------------------------------------------------


def limit(raw: wire.Number) -> Limit:
    if raw.infinite:
        return UNLIMITED
    return raw.number if raw.set else None


def whole(raw: wire.Number) -> int | None:
    return int(raw.number) if raw.set and not raw.infinite else None


def instant(raw: wire.Number) -> Instant:
    """Slurm writes "never" as zero, unset or infinite."""
    return whole(raw) or None


def words(raw: Iterable[str] | None) -> frozenset[str]:
    return frozenset(raw or ())


def taken(raw: list[T] | None) -> Iterator[T]:
    """One after the other, each let go as soon as it is read: of 10,000 there need not be two."""
    left = raw or []
    left.reverse()
    while left:
        yield left.pop()


def names(raw: wire.Names) -> tuple[str, ...]:
    return _same(tuple(raw or ()))


@lru_cache(maxsize=1024)
def _same(names: tuple[str, ...]) -> tuple[str, ...]:
    """The first of those that are equal."""
    return names


def exit_code(raw: wire.WireExit) -> ExitCode:
    status = next(iter(raw.status or ()), "")
    return ExitCode(status, whole(raw.return_code), whole(raw.signal.id))


# --- Nodes ---------------------------------------------------------------------------------


def node(raw: wire.WireNode) -> Node:
    """Most of its words are those of all other nodes: they are kept once."""
    return Node(
        name=intern(raw.name),
        state=NodeState.parse(raw.state or ()),
        reason=intern(raw.reason),
        reason_by=intern(raw.reason_set_by_user),
        reason_at=instant(raw.reason_changed_at),
        comment=intern(raw.comment),
        extra=intern(raw.extra),
        address=intern(raw.address),
        hostname=intern(raw.hostname),
        partitions=names(raw.partitions),
        features=names(raw.features),
        active_features=names(raw.active_features),
        gres=intern(raw.gres),
        gres_used=intern(raw.gres_used),
        cpus=raw.cpus,
        cpus_effective=raw.effective_cpus,
        cpus_allocated=raw.alloc_cpus,
        cpu_load=raw.cpu_load,
        sockets=raw.sockets,
        cores=raw.cores,
        threads=raw.threads,
        memory=raw.real_memory,
        memory_allocated=raw.alloc_memory,
        memory_free=whole(raw.free_mem),
        memory_specialized=raw.specialized_memory,
        weight=raw.weight,
        topology=intern(raw.topology),
        reservation=intern(raw.reservation),
        tres=intern(raw.tres),
        tres_used=intern(raw.tres_used),
        boot_at=instant(raw.boot_time),
        slurmd_started_at=instant(raw.slurmd_start_time),
        last_busy_at=instant(raw.last_busy),
        resume_after=instant(raw.resume_after),
        version=intern(raw.version),
        architecture=intern(raw.architecture),
        operating_system=intern(raw.operating_system),
        instance_id=raw.instance_id,
        instance_type=intern(raw.instance_type),
    )


def nodes(answer: wire.NodesAnswer) -> Listing[Node] | None:
    as_of = whole(answer.last_update)
    return Listing(tuple(map(node, taken(answer.nodes))), as_of) if as_of else None


def one_node(answer: wire.NodesAnswer) -> Node:
    for raw in answer.nodes or ():
        return node(raw)
    raise Absent("no such node")


# --- Jobs ----------------------------------------------------------------------------------


def job(raw: wire.WireJob) -> Job:
    return Job(
        id=raw.job_id,
        name=raw.name,
        state=JobState.parse(raw.job_state or ()),
        reason=raw.state_reason,
        description=raw.state_description,
        flags=words(raw.flags),
        user_id=raw.user_id,
        user=raw.user_name,
        group_id=raw.group_id,
        group=raw.group_name,
        account=raw.account,
        partition=raw.partition,
        qos=raw.qos,
        nodes=raw.nodes,
        scheduled_nodes=raw.scheduled_nodes,
        required_nodes=raw.required_nodes,
        excluded_nodes=raw.excluded_nodes,
        failed_node=raw.failed_node,
        batch_host=raw.batch_host,
        node_count=whole(raw.node_count),
        cpus=whole(raw.cpus),
        tasks=whole(raw.tasks),
        cpus_per_task=whole(raw.cpus_per_task),
        memory_per_node=whole(raw.memory_per_node),
        memory_per_cpu=whole(raw.memory_per_cpu),
        priority=whole(raw.priority),
        hold=raw.hold,
        restarts=raw.restart_cnt,
        time_limit=limit(raw.time_limit),
        submitted_at=instant(raw.submit_time),
        eligible_at=instant(raw.eligible_time),
        started_at=instant(raw.start_time),
        ends_at=instant(raw.end_time),
        exit_code=exit_code(raw.exit_code),
        array_job_id=whole(raw.array_job_id) or None,
        array_task_id=whole(raw.array_task_id),
        array_tasks=raw.array_task_string,
        het_job_id=whole(raw.het_job_id) or None,
        het_offset=whole(raw.het_job_offset),
        tres_requested=raw.tres_req_str,
        tres_allocated=raw.tres_alloc_str,
        tres_per_node=raw.tres_per_node,
        gres=tuple(raw.gres_detail or ()),
        features=raw.features,
        licenses=raw.licenses,
        reservation=raw.resv_name,
        dependency=raw.dependency,
        mcs_label=raw.mcs_label,
        wckey=raw.wckey,
        comment=raw.comment,
        admin_comment=raw.admin_comment,
        extra=raw.extra,
        directory=raw.current_working_directory,
    )


def jobs(answer: wire.JobsAnswer) -> Listing[Job] | None:
    """Slurm answers "no change" about jobs with 200 and the instant zero, elsewhere with 304."""
    as_of = whole(answer.last_update)
    return Listing(tuple(map(job, taken(answer.jobs))), as_of) if as_of else None


def one_job(answer: wire.JobsAnswer) -> Job:
    for raw in answer.jobs or ():
        return job(raw)
    raise Absent("no such job")


def job_records(answer: wire.JobsAnswer) -> tuple[Job, ...]:
    return tuple(map(job, answer.jobs or ()))


def job_states(answer: wire.JobStatesAnswer) -> tuple[BriefJob, ...]:
    return _job_states(bytes(answer.jobs))


@lru_cache(maxsize=1)
def _job_states(jobs: bytes) -> tuple[BriefJob, ...]:
    found = wire.job_states(jobs) or ()
    return tuple(BriefJob(raw.job_id, JobState.parse(raw.state or ())) for raw in found)


def submitted(answer: wire.SubmitAnswer) -> Submitted:
    return Submitted(answer.job_id, tuple(each.description for each in answer.warnings or ()))


def killed(answer: wire.KillAnswer) -> tuple[Outcome, ...]:
    """Only the jobs that could not be signalled; Slurm is silent about the others."""
    return tuple(
        Outcome(raw.step_id, raw.error.code, raw.error.string) for raw in answer.status or ()
    )


def _outcomes(raw: Iterable[wire.JobFault] | None) -> tuple[Outcome, ...]:
    return tuple(
        Outcome(each.step_id or str(each.job_id), each.error_code, each.error) for each in raw or ()
    )


def updated(answer: wire.UpdateAnswer) -> tuple[Outcome, ...]:
    return _outcomes(answer.results)


def requeued(answer: wire.RequeueAnswer) -> tuple[Outcome, ...]:
    return _outcomes(answer.status)


def requeued_many(answer: wire.RequeueManyAnswer) -> tuple[Outcome, ...]:
    return tuple(outcome for each in answer.status or () for outcome in _outcomes(each))


def resources(answer: wire.ResourcesAnswer) -> tuple[NodeAllocation, ...]:
    return tuple(
        NodeAllocation(
            node=raw.node,
            sockets=raw.sockets_per_node,
            cores_per_socket=raw.cores_per_socket,
            memory=raw.mem_alloc,
            core_bitmap=raw.core_bitmap,
            gres=tuple(
                GresAllocation(each.name, each.type, each.count, each.index)
                for each in raw.gres or ()
            ),
        )
        for raw in answer.nodes or ()
    )


# --- Partitions and reservations -----------------------------------------------------------


def partition(raw: wire.WirePartition) -> Partition:
    return Partition(
        name=raw.name,
        state=next(iter(raw.partition.state or ()), "UNKNOWN"),
        nodes=raw.nodes.configured,
        node_sets=raw.node_sets,
        node_count=raw.nodes.total,
        cpus=raw.cpus.total,
        tres=raw.tres.configured,
        flags=words(raw.flags),
        max_time=limit(raw.maximums.time),
        default_time=limit(raw.defaults.time),
        max_nodes=limit(raw.maximums.nodes),
        min_nodes=raw.minimums.nodes,
        tier=raw.priority.tier,
        allowed_accounts=raw.accounts.allowed,
        allowed_groups=raw.groups.allowed,
        allowed_qos=raw.qos.allowed,
        qos=raw.qos.assigned,
        topology=raw.topology,
    )


def partitions(answer: wire.PartitionsAnswer) -> Listing[Partition] | None:
    as_of = whole(answer.last_update)
    return Listing(tuple(map(partition, answer.partitions or ())), as_of) if as_of else None


def one_partition(answer: wire.PartitionsAnswer) -> Partition:
    for raw in answer.partitions or ():
        return partition(raw)
    raise Absent("no such partition")


def reservation(raw: wire.WireReservation) -> Reservation:
    return Reservation(
        name=raw.name,
        nodes=raw.node_list,
        node_count=raw.node_count,
        core_count=raw.core_count,
        starts_at=instant(raw.start_time),
        ends_at=instant(raw.end_time),
        flags=words(raw.flags),
        users=raw.users,
        accounts=raw.accounts,
        groups=raw.groups,
        partition=raw.partition,
        features=raw.features,
        licenses=raw.licenses,
        tres=raw.tres,
    )


def reservations(answer: wire.ReservationsAnswer) -> Listing[Reservation] | None:
    as_of = whole(answer.last_update)
    return Listing(tuple(map(reservation, answer.reservations or ())), as_of) if as_of else None


def one_reservation(answer: wire.ReservationsAnswer) -> Reservation:
    for raw in answer.reservations or ():
        return reservation(raw)
    raise Absent("no such reservation")


# --- The rest ------------------------------------------------------------------------------


def licenses(answer: wire.LicensesAnswer) -> tuple[License, ...]:
    return tuple(
        License(raw.license_name, raw.total, raw.used, raw.free, raw.reserved, raw.remote)
        for raw in answer.licenses or ()
    )


def pings(answer: wire.PingsAnswer) -> tuple[Ping, ...]:
    return tuple(
        Ping(raw.hostname, raw.responding, raw.primary, raw.latency) for raw in answer.pings or ()
    )


def shares(answer: wire.SharesAnswer) -> tuple[Share, ...]:
    return tuple(map(share, answer.shares.shares or ()))


def share(raw: wire.WireShare) -> Share:
    return Share(
        id=raw.id,
        name=raw.name,
        parent=raw.parent,
        cluster=raw.cluster,
        partition=raw.partition,
        kinds=words(raw.type),
        shares=limit(raw.shares),
        shares_normalized=limit(raw.shares_normalized),
        usage=raw.usage,
        usage_effective=limit(raw.effective_usage),
        usage_normalized=limit(raw.usage_normalized),
        fairshare_factor=limit(raw.fairshare.factor),
        fairshare_level=limit(raw.fairshare.level),
    )


def diag(answer: wire.DiagAnswer) -> Diag:
    counts = json.decode(answer.statistics, type=Diag)
    times = json.decode(answer.statistics, type=wire.WireInstants)
    return structs.replace(
        counts,
        now=whole(times.req_time) or 0,
        job_states_at=whole(times.job_states_ts) or 0,
        bf_last_cycle_at=whole(times.bf_when_last_cycle) or 0,
    )


def conf(answer: wire.ConfAnswer) -> Conf:
    meta = answer.slurm_conf_meta
    return Conf(answer.slurm_conf, meta.boot_time or None, meta.slurm_version)


def done(answer: wire.Answer) -> None:
    """A call whose success says nothing more."""
