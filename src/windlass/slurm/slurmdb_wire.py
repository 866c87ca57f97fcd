"""The JSON of slurmrestd, for slurmdbd's half of the API, before it is read; as wire.py is."""

from msgspec import Struct, field

from windlass.slurm.wire import Answer, Names, Number, WireExit


class WireTres(Struct, gc=False):
    type: str = ""
    name: str = ""
    id: int = 0
    count: int = 0


class TresAnswer(Answer):
    tres: list[WireTres] | None = field(default=None, name="TRES")


class WireCoordinator(Struct, gc=False):
    name: str = ""


class WireAccount(Struct, gc=False):
    name: str = ""
    description: str = ""
    organization: str = ""
    coordinators: list[WireCoordinator] | None = None
    flags: Names = None


class AccountsAnswer(Answer):
    accounts: list[WireAccount] | None = None


class AddedAnswer(Answer):
    """What was added, in words for people; empty if nothing was."""

    added_accounts: str = ""
    added_users: str = ""


class WireUserDefault(Struct, gc=False):
    account: str = ""
    wckey: str = ""


class WireUser(Struct, gc=False):
    name: str = ""
    administrator_level: Names = None
    default: WireUserDefault = field(default_factory=WireUserDefault)
    flags: Names = None


class UsersAnswer(Answer):
    users: list[WireUser] | None = None


class WirePerJob(Struct, gc=False):
    wall_clock: Number = field(default_factory=Number)


class WireAssociationJobs(Struct, gc=False):
    per: WirePerJob = field(default_factory=WirePerJob)
    active: Number = field(default_factory=Number)
    total: Number = field(default_factory=Number)


class WireAssociationMax(Struct, gc=False):
    jobs: WireAssociationJobs = field(default_factory=WireAssociationJobs)


class WireDefaultQos(Struct, gc=False):
    qos: str = ""


class WireAssociation(Struct, gc=False):
    account: str = ""
    cluster: str = ""
    user: str = ""
    partition: str = ""
    id: int = 0
    parent_account: str = ""
    shares_raw: int = 0
    qos: Names = None
    default: WireDefaultQos = field(default_factory=WireDefaultQos)
    is_default: bool = False
    max: WireAssociationMax = field(default_factory=WireAssociationMax)
    priority: Number = field(default_factory=Number)


class AssociationsAnswer(Answer):
    associations: list[WireAssociation] | None = None


class WireQosPerJobs(Struct, gc=False):
    account: Number = field(default_factory=Number)
    user: Number = field(default_factory=Number)


class WireQosJobs(Struct, gc=False):
    count: Number = field(default_factory=Number)
    per: WireQosPerJobs = field(default_factory=WireQosPerJobs)


class WireQosWallPer(Struct, gc=False):
    job: Number = field(default_factory=Number)


class WireQosWall(Struct, gc=False):
    per: WireQosWallPer = field(default_factory=WireQosWallPer)


class WireQosActive(Struct, gc=False):
    count: Number = field(default_factory=Number)


class WireQosMax(Struct, gc=False):
    active_jobs: WireQosActive = field(default_factory=WireQosActive)
    jobs: WireQosJobs = field(default_factory=WireQosJobs)
    wall_clock: WireQosWall = field(default_factory=WireQosWall)


class WireQosLimits(Struct, gc=False):
    max: WireQosMax = field(default_factory=WireQosMax)


class WirePreempt(Struct, gc=False):
    list: Names = None
    mode: Names = None


class WireQos(Struct, gc=False):
    name: str = ""
    id: int = 0
    description: str = ""
    flags: Names = None
    priority: Number = field(default_factory=Number)
    preempt: WirePreempt = field(default_factory=WirePreempt)
    usage_factor: Number = field(default_factory=Number)
    limits: WireQosLimits = field(default_factory=WireQosLimits)


class QosAnswer(Answer):
    qos: list[WireQos] | None = None


class WireController(Struct, gc=False):
    host: str = ""
    port: int = 0


class WireCluster(Struct, gc=False):
    name: str = ""
    controller: WireController = field(default_factory=WireController)
    nodes: str = ""
    rpc_version: int = 0
    tres: list[WireTres] | None = None


class ClustersAnswer(Answer):
    clusters: list[WireCluster] | None = None


class WireComments(Struct, gc=False):
    administrator: str = ""
    job: str = ""


class WireTimes(Struct, gc=False):
    elapsed: int = 0
    submission: int = 0
    start: int = 0
    end: int = 0
    limit: Number = field(default_factory=Number)


class WirePastState(Struct, gc=False):
    current: Names = None
    reason: str = ""


class WireJobTres(Struct, gc=False):
    allocated: list[WireTres] | None = None
    requested: list[WireTres] | None = None


class WirePastJob(Struct, gc=False):
    job_id: int = 0
    cluster: str = ""
    name: str = ""
    user: str = ""
    group: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""
    nodes: str = ""
    state: WirePastState = field(default_factory=WirePastState)
    exit_code: WireExit = field(default_factory=WireExit)
    time: WireTimes = field(default_factory=WireTimes)
    tres: WireJobTres = field(default_factory=WireJobTres)
    comment: WireComments = field(default_factory=WireComments)
    extra: str = ""


class PastJobsAnswer(Answer):
    jobs: list[WirePastJob] | None = None


class AccountingConfigAnswer(Answer):
    """Here the list of TRES is `tres`, elsewhere `TRES`."""

    accounts: list[WireAccount] | None = None
    users: list[WireUser] | None = None
    associations: list[WireAssociation] | None = None
    qos: list[WireQos] | None = None
    tres: list[WireTres] | None = None
    clusters: list[WireCluster] | None = None
