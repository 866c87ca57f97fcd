"""What Slurm is made of, as the rest of Windlass sees it: one frozen type each, whatever the wire.

Units: memory in MiB, time limits in minutes, instants in seconds since the epoch (None: never).
Hostlists (`w-[0-3]`) stay as Slurm writes them; values.hostlist expands them.
"""

import math
from typing import Final, Generic, TypeAlias, TypeVar

from msgspec import Struct

from windlass.values.states import JobState, NodeState

T = TypeVar("T")

Limit: TypeAlias = float | None
"""A number, UNLIMITED, or None where Slurm's own default holds."""

UNLIMITED: Final = math.inf
Instant: TypeAlias = int | None


class Listing(Struct, Generic[T], frozen=True):
    """All objects of a kind, and the instant to ask again from."""

    items: tuple[T, ...]
    as_of: int


class Node(Struct, frozen=True, gc=False):
    """A node. APIs before v0.0.44 do not say that one is EXTERNAL."""

    name: str
    state: NodeState = NodeState("UNKNOWN", frozenset())
    reason: str = ""
    reason_by: str = ""
    reason_at: Instant = None
    comment: str = ""
    extra: str = ""
    address: str = ""
    hostname: str = ""
    partitions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    active_features: tuple[str, ...] = ()
    gres: str = ""
    gres_used: str = ""
    cpus: int = 0
    cpus_effective: int = 0
    cpus_allocated: int = 0
    cpu_load: int = 0
    sockets: int = 0
    cores: int = 0
    threads: int = 0
    memory: int = 0
    memory_allocated: int = 0
    memory_free: int | None = None
    memory_specialized: int = 0
    weight: int = 0
    topology: str = ""
    reservation: str = ""
    tres: str = ""
    tres_used: str = ""
    boot_at: Instant = None
    slurmd_started_at: Instant = None
    last_busy_at: Instant = None
    resume_after: Instant = None
    version: str = ""
    architecture: str = ""
    operating_system: str = ""
    instance_id: str = ""
    instance_type: str = ""


class ExitCode(Struct, frozen=True, gc=False):
    """How a job ended; both are None while it has not."""

    status: str = ""
    code: int | None = None
    signal: int | None = None


class Job(Struct, frozen=True, gc=False):
    """A job as slurmctld knows it: until some minutes after its end."""

    id: int
    name: str = ""
    state: JobState = JobState("UNKNOWN", frozenset())
    reason: str = ""
    description: str = ""
    flags: frozenset[str] = frozenset()
    user_id: int = 0
    user: str = ""
    group_id: int = 0
    group: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    nodes: str = ""
    scheduled_nodes: str = ""
    required_nodes: str = ""
    excluded_nodes: str = ""
    failed_node: str = ""
    batch_host: str = ""
    node_count: int | None = None
    cpus: int | None = None
    tasks: int | None = None
    cpus_per_task: int | None = None
    memory_per_node: int | None = None
    memory_per_cpu: int | None = None
    priority: int | None = None
    hold: bool = False
    restarts: int = 0
    time_limit: Limit = None
    submitted_at: Instant = None
    eligible_at: Instant = None
    started_at: Instant = None
    ends_at: Instant = None
    exit_code: ExitCode = ExitCode()
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_tasks: str = ""
    het_job_id: int | None = None
    het_offset: int | None = None
    tres_requested: str = ""
    tres_allocated: str = ""
    tres_per_node: str = ""
    gres: tuple[str, ...] = ()
    features: str = ""
    licenses: str = ""
    reservation: str = ""
    dependency: str = ""
    mcs_label: str = ""
    wckey: str = ""
    comment: str = ""
    admin_comment: str = ""
    extra: str = ""
    directory: str = ""


class BriefJob(Struct, frozen=True, gc=False):
    """The cheapest answer about a job. An array has one for each task: `12_3`, and from when the
    task has a number of its own, `15_3`."""

    key: str
    state: JobState


class Partition(Struct, frozen=True, gc=False):
    name: str
    state: str = "UNKNOWN"
    """UP, DOWN, DRAIN or INACTIVE."""
    nodes: str = ""
    node_sets: str = ""
    node_count: int = 0
    cpus: int = 0
    tres: str = ""
    flags: frozenset[str] = frozenset()
    """Only the newest API tells them (DEFAULT, HIDDEN ...)."""
    max_time: Limit = None
    default_time: Limit = None
    max_nodes: Limit = None
    min_nodes: int = 0
    tier: int = 0
    allowed_accounts: str = ""
    allowed_groups: str = ""
    allowed_qos: str = ""
    qos: str = ""
    topology: str = ""


class Reservation(Struct, frozen=True, gc=False):
    name: str
    nodes: str = ""
    node_count: int = 0
    core_count: int = 0
    starts_at: Instant = None
    ends_at: Instant = None
    flags: frozenset[str] = frozenset()
    users: str = ""
    accounts: str = ""
    groups: str = ""
    partition: str = ""
    features: str = ""
    licenses: str = ""
    tres: str = ""


class License(Struct, frozen=True, gc=False):
    name: str
    total: int = 0
    used: int = 0
    free: int = 0
    reserved: int = 0
    remote: bool = False


class Ping(Struct, frozen=True, gc=False):
    """One slurmctld of the configuration; with a bad token `responding` is false as well."""

    host: str
    responding: bool = False
    primary: bool = False
    latency_us: int = 0


class Share(Struct, frozen=True, gc=False):
    """A row of the fair-share tree."""

    id: int = 0
    name: str = ""
    parent: str = ""
    cluster: str = ""
    partition: str = ""
    kinds: frozenset[str] = frozenset()
    shares: Limit = None
    shares_normalized: Limit = None
    usage: int = 0
    usage_effective: Limit = None
    usage_normalized: Limit = None
    fairshare_factor: Limit = None
    fairshare_level: Limit = None


class GresAllocation(Struct, frozen=True, gc=False):
    name: str
    type: str = ""
    count: int = 0
    index: str = ""


class NodeAllocation(Struct, frozen=True, gc=False):
    """What a job holds on one node."""

    node: str
    sockets: int = 0
    cores_per_socket: int = 0
    memory: int = 0
    core_bitmap: str = ""
    gres: tuple[GresAllocation, ...] = ()


class Submitted(Struct, frozen=True, gc=False):
    """A job was taken; the notes say why it may have to wait."""

    job_id: int
    notes: tuple[str, ...] = ()


class Outcome(Struct, frozen=True, gc=False):
    """What became of one job of a call about many; errno 0 is success."""

    job: str
    errno: int = 0
    error: str = ""


class Conf(Struct, frozen=True):
    """The configuration that slurmctld runs with."""

    values: dict[str, object]
    booted_at: Instant = None
    slurm_version: str = ""
