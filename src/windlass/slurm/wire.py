"""The JSON of slurmrestd, for slurmctld's half of the API, before it is read.

Only fields that the model keeps. All supported versions fit, since msgspec passes over unknown
fields and fills in missing ones. Slurm may write null for an empty list.
"""

from typing import Final, TypeAlias

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

Names: TypeAlias = list[str] | None


class Number(Struct, gc=False):
    """Slurm's number that may be unset or infinite."""

    set: bool = False
    infinite: bool = False
    number: float = 0


class WireError(Struct, gc=False):
    error_number: int = 0
    error: str = ""
    description: str = ""


class Warned(Struct, gc=False):
    description: str = ""


class Answer(Struct):
    """Every JSON answer has these."""

    errors: list[WireError] | None = None
    warnings: list[Warned] | None = None


class WireNode(Struct, gc=False):
    name: str = ""
    state: Names = None
    reason: str = ""
    reason_set_by_user: str = ""
    reason_changed_at: Number = field(default_factory=Number)
    comment: str = ""
    extra: str = ""
    address: str = ""
    hostname: str = ""
    partitions: Names = None
    features: Names = None
    active_features: Names = None
    gres: str = ""
    gres_used: str = ""
    cpus: int = 0
    effective_cpus: int = 0
    alloc_cpus: int = 0
    cpu_load: int = 0
    sockets: int = 0
    cores: int = 0
    threads: int = 0
    real_memory: int = 0
    alloc_memory: int = 0
    free_mem: Number = field(default_factory=Number)
    specialized_memory: int = 0
    weight: int = 0
    topology: str = ""
    reservation: str = ""
    tres: str = ""
    tres_used: str = ""
    boot_time: Number = field(default_factory=Number)
    slurmd_start_time: Number = field(default_factory=Number)
    last_busy: Number = field(default_factory=Number)
    resume_after: Number = field(default_factory=Number)
    version: str = ""
    architecture: str = ""
    operating_system: str = ""
    instance_id: str = ""
    instance_type: str = ""


class NodesAnswer(Answer):
    nodes: list[WireNode] | None = None
    last_update: Number = field(default_factory=Number)


class WireSignal(Struct, gc=False):
    id: Number = field(default_factory=Number)


class WireExit(Struct, gc=False):
    status: Names = None
    return_code: Number = field(default_factory=Number)
    signal: WireSignal = field(default_factory=WireSignal)


class WireJob(Struct, gc=False):
    job_id: int = 0
    name: str = ""
    job_state: Names = None
    state_reason: str = ""
    state_description: str = ""
    flags: Names = None
    user_id: int = 0
    user_name: str = ""
    group_id: int = 0
    group_name: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    nodes: str = ""
    scheduled_nodes: str = ""
    required_nodes: str = ""
    excluded_nodes: str = ""
    failed_node: str = ""
    batch_host: str = ""
    node_count: Number = field(default_factory=Number)
    cpus: Number = field(default_factory=Number)
    tasks: Number = field(default_factory=Number)
    cpus_per_task: Number = field(default_factory=Number)
    memory_per_node: Number = field(default_factory=Number)
    memory_per_cpu: Number = field(default_factory=Number)
    priority: Number = field(default_factory=Number)
    hold: bool = False
    restart_cnt: int = 0
    time_limit: Number = field(default_factory=Number)
    submit_time: Number = field(default_factory=Number)
    eligible_time: Number = field(default_factory=Number)
    start_time: Number = field(default_factory=Number)
    end_time: Number = field(default_factory=Number)
    exit_code: WireExit = field(default_factory=WireExit)
    array_job_id: Number = field(default_factory=Number)
    array_task_id: Number = field(default_factory=Number)
    array_task_string: str = ""
    het_job_id: Number = field(default_factory=Number)
    het_job_offset: Number = field(default_factory=Number)
    tres_req_str: str = ""
    tres_alloc_str: str = ""
    tres_per_node: str = ""
    gres_detail: Names = None
    features: str = ""
    licenses: str = ""
    resv_name: str = ""
    dependency: str = ""
    mcs_label: str = ""
    wckey: str = ""
    comment: str = ""
    admin_comment: str = ""
    extra: str = ""
    current_working_directory: str = ""


class JobsAnswer(Answer):
    jobs: list[WireJob] | None = None
    last_update: Number = field(default_factory=Number)


class WireJobState(Struct, gc=False):
    """The OpenAPI document says a whole job; slurmrestd sends these two, the id as a string."""

    job_id: str = ""
    state: Names = None


class JobStatesAnswer(Answer):
    """Asked for all the time, and mostly the same: `job_states` reads the list where it is not."""

    jobs: Raw = Raw(b"null")


job_states: Final = Decoder(list[WireJobState] | None).decode


class SubmitAnswer(Answer):
    job_id: int = 0


class KillFault(Struct, gc=False):
    code: int = 0
    string: str = ""


class KillStatus(Struct, gc=False):
    step_id: str = ""
    error: KillFault = field(default_factory=KillFault)


class KillAnswer(Answer):
    """An unknown or ended job is a success here, with the truth in the list."""

    status: list[KillStatus] | None = None


class JobFault(Struct, gc=False):
    job_id: int = 0
    step_id: str = ""
    error: str = ""
    error_code: int = 0
    why: str = ""


class UpdateAnswer(Answer):
    results: list[JobFault] | None = None


class RequeueAnswer(Answer):
    status: list[JobFault] | None = None


class RequeueManyAnswer(Answer):
    status: list[list[JobFault]] | None = None


class WirePartitionNodes(Struct, gc=False):
    configured: str = ""
    total: int = 0


class WireCpus(Struct, gc=False):
    total: int = 0


class WireTresText(Struct, gc=False):
    configured: str = ""


class WireAllowed(Struct, gc=False):
    allowed: str = ""


class WirePartitionQos(Struct, gc=False):
    allowed: str = ""
    assigned: str = ""


class WireMaximums(Struct, gc=False):
    time: Number = field(default_factory=Number)
    nodes: Number = field(default_factory=Number)


class WireMinimums(Struct, gc=False):
    nodes: int = 0


class WireDefaults(Struct, gc=False):
    time: Number = field(default_factory=Number)


class WireTier(Struct, gc=False):
    tier: int = 0


class WirePartitionState(Struct, gc=False):
    state: Names = None


class WirePartition(Struct, gc=False):
    name: str = ""
    partition: WirePartitionState = field(default_factory=WirePartitionState)
    nodes: WirePartitionNodes = field(default_factory=WirePartitionNodes)
    node_sets: str = ""
    cpus: WireCpus = field(default_factory=WireCpus)
    tres: WireTresText = field(default_factory=WireTresText)
    flags: Names = None
    maximums: WireMaximums = field(default_factory=WireMaximums)
    minimums: WireMinimums = field(default_factory=WireMinimums)
    defaults: WireDefaults = field(default_factory=WireDefaults)
    priority: WireTier = field(default_factory=WireTier)
    accounts: WireAllowed = field(default_factory=WireAllowed)
    groups: WireAllowed = field(default_factory=WireAllowed)
    qos: WirePartitionQos = field(default_factory=WirePartitionQos)
    topology: str = ""


class PartitionsAnswer(Answer):
    partitions: list[WirePartition] | None = None
    last_update: Number = field(default_factory=Number)


class WireReservation(Struct, gc=False):
    name: str = ""
    node_list: str = ""
    node_count: int = 0
    core_count: int = 0
    start_time: Number = field(default_factory=Number)
    end_time: Number = field(default_factory=Number)
    flags: Names = None
    users: str = ""
    accounts: str = ""
    groups: str = ""
    partition: str = ""
    features: str = ""
    licenses: str = ""
    tres: str = ""


class ReservationsAnswer(Answer):
    reservations: list[WireReservation] | None = None
    last_update: Number = field(default_factory=Number)


class WireLicense(Struct, gc=False, rename="pascal"):
    license_name: str = ""
    total: int = 0
    used: int = 0
    free: int = 0
    reserved: int = 0
    remote: bool = False


class LicensesAnswer(Answer):
    licenses: list[WireLicense] | None = None


class WirePing(Struct, gc=False):
    hostname: str = ""
    responding: bool = False
    primary: bool = False
    latency: int = 0


class PingsAnswer(Answer):
    pings: list[WirePing] | None = None


class WireFairshare(Struct, gc=False):
    factor: Number = field(default_factory=Number)
    level: Number = field(default_factory=Number)


class WireShare(Struct, gc=False):
    id: int = 0
    name: str = ""
    parent: str = ""
    cluster: str = ""
    partition: str = ""
    type: Names = None
    shares: Number = field(default_factory=Number)
    shares_normalized: Number = field(default_factory=Number)
    usage: int = 0
    effective_usage: Number = field(default_factory=Number)
    usage_normalized: Number = field(default_factory=Number)
    fairshare: WireFairshare = field(default_factory=WireFairshare)


class WireShares(Struct):
    shares: list[WireShare] | None = None


class SharesAnswer(Answer):
    shares: WireShares = field(default_factory=WireShares)


class WireGresAllocation(Struct, gc=False):
    name: str = ""
    type: str = ""
    count: int = 0
    index: str = ""


class WireNodeAllocation(Struct, gc=False):
    node: str = ""
    sockets_per_node: int = 0
    cores_per_socket: int = 0
    mem_alloc: int = 0
    core_bitmap: str = ""
    gres: list[WireGresAllocation] | None = None


class ResourcesAnswer(Answer):
    nodes: list[WireNodeAllocation] | None = None


class WireInstants(Struct, gc=False):
    """The times among the statistics, which alone are wrapped."""

    req_time: Number = field(default_factory=Number)
    job_states_ts: Number = field(default_factory=Number)
    bf_when_last_cycle: Number = field(default_factory=Number)


class DiagAnswer(Answer):
    statistics: Raw = field(default_factory=lambda: Raw(b"{}"))


class ConfMeta(Struct, gc=False):
    boot_time: int = field(default=0, name="BOOT_TIME")
    slurm_version: str = field(default="", name="SLURM_VERSION")


class ConfAnswer(Answer):
    slurm_conf: dict[str, object] = field(default_factory=dict)
    slurm_conf_meta: ConfMeta = field(default_factory=ConfMeta)
