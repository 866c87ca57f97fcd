"""How the fake Slurm answers each call of slurmdbd's half of the API."""

from collections.abc import Callable
from typing import Any, Final

from windlass.slurm import slurmdb_wire as wire
from windlass.slurm.call import Response
from windlass.slurm.errors import Errno
from windlass.slurm.wire import Answer, PingsAnswer, WireJob, WirePing
from windlass.testing.fake_accounting import FakeAccounting, infinite
from windlass.testing.fake_calls import NOT_MODIFIED, READ, WRITE, Asked
from windlass.testing.fake_cluster import Rejected, changed

Keeper = Callable[[FakeAccounting, Asked], Answer | Response]
DAY: Final = 86_400


def ping(_books: FakeAccounting, _asked: Asked) -> Answer:
    return PingsAnswer(pings=[WirePing("127.0.0.1", responding=True, primary=True)])


def get_tres(books: FakeAccounting, _asked: Asked) -> Answer:
    return wire.TresAnswer(tres=books.tres)


def get_config(books: FakeAccounting, _asked: Asked) -> Answer:
    return wire.AccountingConfigAnswer(
        accounts=list(books.accounts.values()),
        users=[books.shown(user) for user in books.users.values()],
        associations=books.associations,
        qos=list(books.qos.values()),
        tres=books.tres,
        clusters=books.clusters,
    )


def get_clusters(books: FakeAccounting, asked: Asked) -> Answer:
    return wire.ClustersAnswer(clusters=[each for each in books.clusters if fits(each.name, asked)])


def fits(name: str, asked: Asked) -> bool:
    """Whether a call is about this name; a list is about all."""
    return asked.name in ("", name)


# --- Accounts ------------------------------------------------------------------------------


def get_accounts(books: FakeAccounting, asked: Asked) -> Answer:
    found = [each for each in books.accounts.values() if fits(each.name, asked)]
    return wire.AccountsAnswer(accounts=found)


def post_accounts(books: FakeAccounting, asked: Asked) -> Answer:
    for wanted in asked.body["accounts"]:
        old = books.accounts.get(wanted["name"], wire.WireAccount())
        books.accounts[wanted["name"]] = changed(old, wanted)
    return Answer()


def add_accounts(books: FakeAccounting, asked: Asked) -> Answer:
    condition, described = asked.body["association_condition"], asked.body["account"]
    check_clusters(books, condition)
    parent = condition["association"].get("parent", "")
    if parent and books.exactly(parent, "") is None:
        raise Rejected(Errno.ESLURM_INVALID_PARENT_ACCOUNT)
    added = [name for name in condition["accounts"] if books.exactly(name, "") is None]
    for name in added:
        if name not in books.accounts:
            books.accounts[name] = changed(wire.WireAccount(name), described)
        books.associate(name, "", parent)
    return wire.AddedAnswer(added_accounts="\n".join(added))


def check_clusters(books: FakeAccounting, condition: dict[str, Any]) -> None:
    if any(name != books.cluster.name for name in condition["clusters"]):
        raise Rejected(Errno.ESLURM_INVALID_CLUSTER_NAME)


def delete_account(books: FakeAccounting, asked: Asked) -> Answer | Response:
    if asked.name not in books.accounts:
        return NOT_MODIFIED
    books.remove_account(asked.name)
    return Answer()


# --- Users ---------------------------------------------------------------------------------


def get_users(books: FakeAccounting, asked: Asked) -> Answer:
    found = [books.shown(each) for each in books.users.values() if fits(each.name, asked)]
    return wire.UsersAnswer(users=found)


def post_users(books: FakeAccounting, asked: Asked) -> Answer:
    """A default account without an association is ignored without a word."""
    for wanted in asked.body["users"]:
        old = books.users.get(wanted["name"], wire.WireUser(administrator_level=["None"]))
        books.users[wanted["name"]] = changed(old, wanted)
    return Answer()


def add_users(books: FakeAccounting, asked: Asked) -> Answer:
    condition, described = asked.body["association_condition"], asked.body["user"]
    check_clusters(books, condition)
    (account,) = condition["accounts"]
    known = books.exactly(account, "") is not None
    added = [name for name in condition["users"] if known and books.exactly(account, name) is None]
    for name in added:
        books.users.setdefault(name, wire.WireUser(name, described.get("adminlevel", ["None"])))
        books.associate(account, name)
    return wire.AddedAnswer(added_users="\n".join(added))


def delete_user(books: FakeAccounting, asked: Asked) -> Answer | Response:
    if asked.name not in books.users:
        return NOT_MODIFIED
    books.remove_user(asked.name)
    return Answer()


# --- Associations --------------------------------------------------------------------------


def get_associations(books: FakeAccounting, asked: Asked) -> Answer:
    return wire.AssociationsAnswer(associations=books.found(asked.query))


def post_associations(books: FakeAccounting, asked: Asked) -> Answer:
    """What cannot be associated, and every new association of an account, is ignored."""
    for wanted in asked.body["associations"]:
        account, user, partition = wanted["account"], wanted["user"], wanted.get("partition", "")
        if wanted["cluster"] != books.cluster.name or books.exactly(account, "") is None:
            continue
        old = books.exactly(account, user, partition)
        if old is None:
            old = books.associate(account, user)
        books.change(old, wanted)
    return Answer()


def delete_associations(books: FakeAccounting, asked: Asked) -> Answer | Response:
    found = books.found(asked.query)
    if not found:
        return NOT_MODIFIED
    books.dissociate(found)
    return Answer()


# --- QOS -----------------------------------------------------------------------------------


def get_qos(books: FakeAccounting, asked: Asked) -> Answer:
    return wire.QosAnswer(qos=[each for each in books.qos.values() if fits(each.name, asked)])


def post_qos(books: FakeAccounting, asked: Asked) -> Answer:
    for wanted in asked.body["qos"]:
        books.write_qos(wanted)
    return Answer()


def delete_qos(books: FakeAccounting, asked: Asked) -> Answer | Response:
    return NOT_MODIFIED if books.qos.pop(asked.name, None) is None else Answer()


# --- Past jobs -----------------------------------------------------------------------------


def get_job(books: FakeAccounting, asked: Asked) -> Answer:
    job = books.cluster.jobs.get(int(asked.name))
    return wire.PastJobsAnswer(jobs=[past(books, job, asked.now)] if job else [])


def get_jobs(books: FakeAccounting, asked: Asked) -> Answer:
    query = asked.query
    user, cluster = query.get("users", ""), query.get("cluster", books.cluster.name)
    if user and user not in books.unix_users:
        raise Rejected(Errno.ESLURM_USER_ID_UNKNOWN)
    start = int(query.get("start_time", asked.now // DAY * DAY))
    end = int(query.get("end_time", asked.now))
    jobs = (past(books, job, asked.now) for job in books.cluster.jobs.values())
    return wire.PastJobsAnswer(
        jobs=[
            job
            for job in jobs
            if user in ("", job.user)
            and cluster == books.cluster.name
            and job.time.submission <= end
            and start <= (job.time.end or asked.now)
        ]
    )


def past(books: FakeAccounting, job: WireJob, now: int) -> wire.WirePastJob:
    """A job as the books have it."""
    start, end = int(job.start_time.number), int(job.end_time.number)
    limit = job.time_limit if job.time_limit.set else infinite()
    submitted = int(job.submit_time.number)
    elapsed = (end or now) - start if start else 0
    held = [wire.WireTres("cpu", id=1, count=int(job.cpus_per_task.number))]
    return wire.WirePastJob(
        job_id=job.job_id,
        cluster=books.cluster.name,
        name=job.name,
        user=job.user_name,
        group=job.group_name,
        account=job.account,
        partition=job.partition,
        qos=job.qos or "normal",
        nodes=job.nodes,
        state=wire.WirePastState(job.job_state, job.state_reason),
        exit_code=job.exit_code,
        time=wire.WireTimes(elapsed, submitted, start, end, limit),
        tres=wire.WireJobTres(allocated=held if start else [], requested=held),
        comment=wire.WireComments(administrator=job.admin_comment, job=job.comment),
        extra=job.extra,
    )


ROUTES: Final[tuple[tuple[str, str, Keeper, bool], ...]] = (
    ("GET", "/ping/", ping, READ),
    ("GET", "/config", get_config, READ),
    ("GET", "/tres/", get_tres, READ),
    ("GET", "/clusters/", get_clusters, READ),
    ("GET", "/cluster/([^/]+)", get_clusters, READ),
    ("GET", "/accounts/", get_accounts, READ),
    ("POST", "/accounts/", post_accounts, WRITE),
    ("POST", "/accounts_association/", add_accounts, WRITE),
    ("GET", "/account/([^/]+)", get_accounts, READ),
    ("DELETE", "/account/([^/]+)", delete_account, WRITE),
    ("GET", "/users/", get_users, READ),
    ("POST", "/users/", post_users, WRITE),
    ("POST", "/users_association/", add_users, WRITE),
    ("GET", "/user/([^/]+)", get_users, READ),
    ("DELETE", "/user/([^/]+)", delete_user, WRITE),
    ("GET", "/associations/", get_associations, READ),
    ("POST", "/associations/", post_associations, WRITE),
    ("DELETE", "/association/", delete_associations, WRITE),
    ("GET", "/qos/", get_qos, READ),
    ("POST", "/qos/", post_qos, WRITE),
    ("GET", "/qos/([^/]+)", get_qos, READ),
    ("DELETE", "/qos/([^/]+)", delete_qos, WRITE),
    ("GET", "/jobs/", get_jobs, READ),
    ("GET", "/job/([0-9]+)", get_job, READ),
)
"""Method, path, who answers, and whether only an administrator may."""
