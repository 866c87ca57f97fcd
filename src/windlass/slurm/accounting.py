"""What slurmdbd keeps: accounts, users, associations, QOS, TRES, clusters and past jobs."""

from msgspec import Struct

from windlass.slurm.model import ExitCode, Instant, Limit
from windlass.values.states import JobState


class Tres(Struct, frozen=True, gc=False):
    """A kind of trackable resource, and how much of it where that is said."""

    type: str = ""
    name: str = ""
    id: int = 0
    count: int = 0


class Account(Struct, frozen=True, gc=False):
    name: str
    description: str = ""
    organization: str = ""
    coordinators: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()


class User(Struct, frozen=True, gc=False):
    name: str
    administrator: str = "None"
    """None, Operator or Administrator."""
    default_account: str = ""
    default_wckey: str = ""
    flags: frozenset[str] = frozenset()


class Association(Struct, frozen=True, gc=False):
    """What an account, or a user in it, may use on a cluster."""

    account: str
    cluster: str = ""
    user: str = ""
    partition: str = ""
    id: int = 0
    parent: str = ""
    shares: int | None = None
    qos: tuple[str, ...] | None = None
    default_qos: str = ""
    is_default: bool = False
    max_jobs: Limit = None
    max_submitted: Limit = None
    max_wall_minutes: Limit = None
    priority: Limit = None


class NewAccount(Struct, frozen=True):
    """An account, and where it is to have an association."""

    account: Account
    cluster: str = ""
    parent: str = ""


class NewUser(Struct, frozen=True):
    """A user, and the account and place in which it is to have an association."""

    user: User
    account: str
    cluster: str = ""


class Qos(Struct, frozen=True, gc=False):
    name: str
    id: int = 0
    description: str = ""
    flags: frozenset[str] = frozenset()
    priority: Limit = None
    preempts: tuple[str, ...] = ()
    preempt_modes: frozenset[str] = frozenset()
    usage_factor: Limit = None
    max_jobs: Limit = None
    max_jobs_per_user: Limit = None
    max_jobs_per_account: Limit = None
    max_wall_minutes: Limit = None


class Cluster(Struct, frozen=True, gc=False):
    name: str
    host: str = ""
    port: int = 0
    nodes: str = ""
    rpc_version: int = 0
    tres: tuple[Tres, ...] = ()


class PastJob(Struct, frozen=True, gc=False):
    """A job as accounting remembers it."""

    id: int
    cluster: str = ""
    name: str = ""
    user: str = ""
    group: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    nodes: str = ""
    state: JobState = JobState("UNKNOWN", frozenset())
    reason: str = ""
    exit_code: ExitCode = ExitCode()
    submitted_at: Instant = None
    started_at: Instant = None
    ended_at: Instant = None
    elapsed: int = 0
    time_limit: Limit = None
    tres_requested: tuple[Tres, ...] = ()
    tres_allocated: tuple[Tres, ...] = ()
    comment: str = ""
    admin_comment: str = ""
    extra: str = ""


class AccountingConfig(Struct, frozen=True):
    """Everything sacctmgr dumps."""

    accounts: tuple[Account, ...] = ()
    users: tuple[User, ...] = ()
    associations: tuple[Association, ...] = ()
    qos: tuple[Qos, ...] = ()
    tres: tuple[Tres, ...] = ()
    clusters: tuple[Cluster, ...] = ()
