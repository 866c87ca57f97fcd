"""What we ask Slurm to make or change. None in any field means: leave it alone, or Slurm's default.

The same units as in the model; the codec turns these into the wire's shapes.
"""

from msgspec import Struct

from windlass.slurm.model import Instant, Limit


class NodeUpdate(Struct, frozen=True, kw_only=True):
    """A change to one node, or alike to many. States are words: DRAIN, UNDRAIN, RESUME, DOWN ..."""

    state: str | None = None
    reason: str | None = None
    comment: str | None = None
    extra: str | None = None
    features: tuple[str, ...] | None = None
    """Those that are active must stay among them, or be changed in the same call."""
    active_features: tuple[str, ...] | None = None
    gres: str | None = None
    weight: int | None = None
    topology: str | None = None
    resume_after: int | None = None


class NodesUpdate(Struct, frozen=True):
    """One change for many nodes; a name may be a hostlist."""

    names: tuple[str, ...]
    update: NodeUpdate


class JobSpec(Struct, frozen=True, kw_only=True):
    """A job to submit, or the fields of one to change."""

    name: str | None = None
    script: str | None = None
    external: bool | None = None
    """Slurm allocates, and something else runs what the job is for."""
    account: str | None = None
    partition: str | None = None
    qos: str | None = None
    reservation: str | None = None
    user: str | None = None
    group: str | None = None
    nodes: str | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    required_nodes: tuple[str, ...] | None = None
    excluded_nodes: tuple[str, ...] | None = None
    min_cpus: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    cpus_per_task: int | None = None
    memory_per_node: int | None = None
    memory_per_cpu: int | None = None
    tres_per_node: str | None = None
    tres_per_task: str | None = None
    tres_per_job: str | None = None
    constraints: str | None = None
    licenses: str | None = None
    shared: tuple[str, ...] | None = None
    """("none",) is exclusive use of the nodes."""
    time_limit: Limit = None
    priority: int | None = None
    nice: int | None = None
    hold: bool | None = None
    requeue: bool | None = None
    array: str | None = None
    dependency: str | None = None
    begins_at: Instant = None
    deadline: Instant = None
    environment: tuple[str, ...] | None = None
    directory: str | None = None
    comment: str | None = None
    admin_comment: str | None = None
    extra: str | None = None
    mcs_label: str | None = None
    wckey: str | None = None


class Submission(Struct, frozen=True):
    """A job on its way in."""

    job: JobSpec


class PartitionSpec(Struct, frozen=True, kw_only=True):
    """A partition to create, or the fields of one to change."""

    name: str
    state: str | None = None
    nodes: str | None = None
    max_time: Limit = None
    default_time: Limit = None
    max_nodes: Limit = None
    min_nodes: int | None = None
    tier: int | None = None
    flags: tuple[str, ...] | None = None
    """DEFAULT, HIDDEN ..., or DEFAULT_CLEAR and so on to take one away."""
    allowed_accounts: str | None = None
    allowed_groups: str | None = None
    allowed_qos: str | None = None
    qos: str | None = None


class ReservationSpec(Struct, frozen=True, kw_only=True):
    """A reservation to create (it needs users or accounts), or the fields of one to change."""

    name: str
    nodes: tuple[str, ...] | None = None
    node_count: int | None = None
    starts_at: Instant = None
    ends_at: Instant = None
    minutes: int | None = None
    users: tuple[str, ...] | None = None
    accounts: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    partition: str | None = None
    features: str | None = None
    licenses: tuple[str, ...] | None = None
    flags: tuple[str, ...] | None = None
    comment: str | None = None
