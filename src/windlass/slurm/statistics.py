"""slurmctld's own statistics (sdiag), by the wire's names: they are alike in all versions."""

from msgspec import Struct


class MainExits(Struct, frozen=True, gc=False):
    """How often the main scheduler ended a cycle, by cause."""

    end_job_queue: int = 0
    default_queue_depth: int = 0
    max_job_start: int = 0
    max_rpc_cnt: int = 0
    max_sched_time: int = 0
    licenses: int = 0


class BackfillExits(Struct, frozen=True, gc=False):
    end_job_queue: int = 0
    bf_max_job_start: int = 0
    bf_max_job_test: int = 0
    bf_max_time: int = 0
    bf_node_space_size: int = 0
    state_changed: int = 0


class RpcCount(Struct, frozen=True, gc=False):
    message_type: str = ""
    count: int = 0
    queued: int = 0
    dropped: int = 0
    total_time: int = 0


class UserRpcCount(Struct, frozen=True, gc=False):
    user: str = ""
    count: int = 0
    total_time: int = 0


class Diag(Struct, frozen=True):
    """Times are in microseconds, as Slurm counts them."""

    server_thread_count: int = 0
    agent_queue_size: int = 0
    agent_count: int = 0
    agent_thread_count: int = 0
    dbd_agent_queue_size: int = 0
    gettimeofday_latency: int = 0
    schedule_cycle_max: int = 0
    schedule_cycle_last: int = 0
    schedule_cycle_sum: int = 0
    schedule_cycle_total: int = 0
    schedule_cycle_mean: int = 0
    schedule_cycle_mean_depth: int = 0
    schedule_cycle_per_minute: int = 0
    schedule_cycle_depth: int = 0
    schedule_exit: MainExits = MainExits()
    schedule_queue_length: int = 0
    jobs_submitted: int = 0
    jobs_started: int = 0
    jobs_completed: int = 0
    jobs_canceled: int = 0
    jobs_failed: int = 0
    jobs_pending: int = 0
    jobs_running: int = 0
    bf_backfilled_jobs: int = 0
    bf_last_backfilled_jobs: int = 0
    bf_backfilled_het_jobs: int = 0
    bf_cycle_counter: int = 0
    bf_cycle_mean: int = 0
    bf_cycle_sum: int = 0
    bf_cycle_last: int = 0
    bf_cycle_max: int = 0
    bf_depth_mean: int = 0
    bf_depth_mean_try: int = 0
    bf_depth_sum: int = 0
    bf_depth_try_sum: int = 0
    bf_last_depth: int = 0
    bf_last_depth_try: int = 0
    bf_exit: BackfillExits = BackfillExits()
    bf_queue_len: int = 0
    bf_queue_len_mean: int = 0
    bf_queue_len_sum: int = 0
    bf_table_size: int = 0
    bf_table_size_sum: int = 0
    bf_table_size_mean: int = 0
    bf_active: bool = False
    rpcs_by_message_type: tuple[RpcCount, ...] = ()
    rpcs_by_user: tuple[UserRpcCount, ...] = ()
    now: int = 0
    """slurmctld's clock when it answered."""
    job_states_at: int = 0
    bf_last_cycle_at: int = 0
