"""From slurmdbd's half of the wire to the model and back. Pure; slurmdb.py picks the readers."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from windlass.slurm import slurmdb_wire as wire
from windlass.slurm.accounting import (
    Account,
    AccountingConfig,
    Association,
    Cluster,
    NewAccount,
    NewUser,
    PastJob,
    Qos,
    Tres,
    User,
)
from windlass.slurm.codec import exit_code, limit, words
from windlass.slurm.encoding import Json, encoded, number
from windlass.slurm.errors import Absent, Refused
from windlass.slurm.model import Limit
from windlass.slurm.versions import Version
from windlass.slurm.wire import Answer
from windlass.values.states import JobState

A = TypeVar("A", bound=Answer)
T = TypeVar("T")


def first(read: Callable[[A], tuple[T, ...]], what: str) -> Callable[[A], T]:
    """A reader of one object from the reader of a list."""

    def reader(answer: A) -> T:
        for item in read(answer):
            return item
        raise Absent(f"no such {what}")

    return reader


# --- Reading -------------------------------------------------------------------------------


def one_tres(raw: wire.WireTres) -> Tres:
    return Tres(raw.type, raw.name, raw.id, raw.count)


def many_tres(raw: Iterable[wire.WireTres] | None) -> tuple[Tres, ...]:
    return tuple(map(one_tres, raw or ()))


def tres(answer: wire.TresAnswer) -> tuple[Tres, ...]:
    return many_tres(answer.tres)


def account(raw: wire.WireAccount) -> Account:
    coordinators = tuple(each.name for each in raw.coordinators or ())
    return Account(raw.name, raw.description, raw.organization, coordinators, words(raw.flags))


def accounts(
    answer: wire.AccountsAnswer | wire.AccountingConfigAnswer,
) -> tuple[Account, ...]:
    return tuple(map(account, answer.accounts or ()))


def user(raw: wire.WireUser) -> User:
    level = next(iter(raw.administrator_level or ()), "None")
    flags = words(raw.flags) - {"NONE"}
    return User(raw.name, level, raw.default.account, raw.default.wckey, flags)


def users(answer: wire.UsersAnswer | wire.AccountingConfigAnswer) -> tuple[User, ...]:
    return tuple(map(user, answer.users or ()))


def association(raw: wire.WireAssociation) -> Association:
    return Association(
        account=raw.account,
        cluster=raw.cluster,
        user=raw.user,
        partition=raw.partition,
        id=raw.id,
        parent=raw.parent_account,
        shares=raw.shares_raw,
        qos=tuple(raw.qos or ()),
        default_qos=raw.default.qos,
        is_default=raw.is_default,
        max_jobs=limit(raw.max.jobs.active),
        max_submitted=limit(raw.max.jobs.total),
        max_wall_minutes=limit(raw.max.jobs.per.wall_clock),
        priority=limit(raw.priority),
    )


def associations(
    answer: wire.AssociationsAnswer | wire.AccountingConfigAnswer,
) -> tuple[Association, ...]:
    return tuple(map(association, answer.associations or ()))


def one_qos(raw: wire.WireQos) -> Qos:
    most = raw.limits.max
    return Qos(
        name=raw.name,
        id=raw.id,
        description=raw.description,
        flags=words(raw.flags),
        priority=limit(raw.priority),
        preempts=tuple(raw.preempt.list or ()),
        preempt_modes=words(raw.preempt.mode),
        usage_factor=limit(raw.usage_factor),
        max_jobs=limit(most.active_jobs.count),
        max_jobs_per_user=limit(most.jobs.per.user),
        max_jobs_per_account=limit(most.jobs.per.account),
        max_wall_minutes=limit(most.wall_clock.per.job),
    )


def qos(answer: wire.QosAnswer | wire.AccountingConfigAnswer) -> tuple[Qos, ...]:
    return tuple(map(one_qos, answer.qos or ()))


def cluster(raw: wire.WireCluster) -> Cluster:
    host, port = raw.controller.host, raw.controller.port
    return Cluster(raw.name, host, port, raw.nodes, raw.rpc_version, many_tres(raw.tres))


def clusters(answer: wire.ClustersAnswer | wire.AccountingConfigAnswer) -> tuple[Cluster, ...]:
    return tuple(map(cluster, answer.clusters or ()))


def past_job(raw: wire.WirePastJob) -> PastJob:
    return PastJob(
        id=raw.job_id,
        cluster=raw.cluster,
        name=raw.name,
        user=raw.user,
        group=raw.group,
        account=raw.account,
        partition=raw.partition,
        qos=raw.qos,
        nodes=raw.nodes,
        state=JobState.parse(raw.state.current or ()),
        reason=raw.state.reason,
        exit_code=exit_code(raw.exit_code),
        submitted_at=raw.time.submission or None,
        started_at=raw.time.start or None,
        ended_at=raw.time.end or None,
        elapsed=raw.time.elapsed,
        time_limit=limit(raw.time.limit),
        tres_requested=many_tres(raw.tres.requested),
        tres_allocated=many_tres(raw.tres.allocated),
        comment=raw.comment.job,
        admin_comment=raw.comment.administrator,
        extra=raw.extra,
    )


def past_jobs(answer: wire.PastJobsAnswer) -> tuple[PastJob, ...]:
    return tuple(map(past_job, answer.jobs or ()))


def config(answer: wire.AccountingConfigAnswer) -> AccountingConfig:
    return AccountingConfig(
        accounts=accounts(answer),
        users=users(answer),
        associations=associations(answer),
        qos=qos(answer),
        tres=many_tres(answer.tres),
        clusters=clusters(answer),
    )


def added(answer: wire.AddedAnswer) -> bool:
    return bool(answer.added_accounts or answer.added_users)


# --- Writing -------------------------------------------------------------------------------


def _set(fields: dict[str, object]) -> Json:
    """Without what the caller left empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", (), [], {})}


def _number(value: Limit) -> Json | None:
    return None if value is None else number(value)


@encoded.register
def _(body: Account, version: Version) -> object:  # noqa: ARG001
    named = {"name": body.name, "description": body.description or body.name}
    return {**named, "organization": body.organization or body.name}


@encoded.register
def _(body: User, version: Version) -> object:  # noqa: ARG001
    default = _set({"account": body.default_account, "wckey": body.default_wckey})
    level = [body.administrator]
    return _set({"name": body.name, "administrator_level": level, "default": default})


@encoded.register
def _(body: NewAccount, version: Version) -> object:  # noqa: ARG001
    account = body.account
    condition = {
        "accounts": [account.name],
        "clusters": [body.cluster] if body.cluster else [],
        "association": _set({"parent": body.parent}),
    }
    described = {
        "description": account.description or account.name,
        "organization": account.organization or account.name,
    }
    return {"association_condition": condition, "account": described}


@encoded.register
def _(body: NewUser, version: Version) -> object:  # noqa: ARG001
    user = body.user
    condition = {
        "accounts": [body.account],
        "clusters": [body.cluster] if body.cluster else [],
        "users": [user.name],
        "association": {},
    }
    described: Json = {
        "adminlevel": [user.administrator],
        "defaultaccount": user.default_account,
        "defaultwckey": user.default_wckey,
    }
    return {"association_condition": condition, "user": _set(described)}


@encoded.register
def _(body: Association, version: Version) -> object:  # noqa: ARG001
    if not body.cluster:
        raise Refused(
            f"the association of account {body.account} names no cluster; give its `cluster`,"
            " since slurmrestd says that such a write was done and does nothing"
        )
    per = _set({"wall_clock": _number(body.max_wall_minutes)})
    active, total = _number(body.max_jobs), _number(body.max_submitted)
    jobs = _set({"active": active, "total": total, "per": per})
    told = _set(
        {
            "account": body.account,
            "cluster": body.cluster,
            "partition": body.partition,
            "parent_account": body.parent,
            "shares_raw": body.shares,
            "qos": body.qos,
            "default": _set({"qos": body.default_qos}),
            "is_default": body.is_default or None,
            "max": _set({"jobs": jobs}),
            "priority": _number(body.priority),
        }
    )
    return {**told, "user": body.user}  # required, also where it is empty


@encoded.register
def _(body: Qos, version: Version) -> object:  # noqa: ARG001
    user, account_ = _number(body.max_jobs_per_user), _number(body.max_jobs_per_account)
    most = _set(
        {
            "active_jobs": _set({"count": _number(body.max_jobs)}),
            "jobs": _set({"per": _set({"user": user, "account": account_})}),
            "wall_clock": _set({"per": _set({"job": _number(body.max_wall_minutes)})}),
        }
    )
    preempt = _set({"list": body.preempts, "mode": sorted(body.preempt_modes)})
    return _set(
        {
            "name": body.name,
            "description": body.description,
            "flags": sorted(body.flags),
            "priority": _number(body.priority),
            "preempt": preempt,
            "usage_factor": _number(body.usage_factor),
            "limits": _set({"max": most}),
        }
    )
