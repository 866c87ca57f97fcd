"""Every call of slurmdbd's half of the API that Windlass makes, each as a plain Request.

An unknown name is Absent, for deletes too. Writes create what is not there and change what is.

With a bad token slurmrestd says here that it cannot reach the database, so that is Unavailable and
not Unauthorized: ask slurmctld's half (requests.diag) which of them it is.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from windlass.slurm import codec
from windlass.slurm import slurmdb_codec as reading
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
from windlass.slurm.call import Request, segment
from windlass.slurm.encoding import encoded
from windlass.slurm.errors import Errno
from windlass.slurm.model import Ping
from windlass.slurm.versions import Version
from windlass.slurm.wire import Answer, PingsAnswer

API: Final = "slurmdb"
NOTHING: Final = frozenset({int(Errno.ESLURM_REST_EMPTY_RESULT)})


class Many(Struct, frozen=True):
    """Objects under the name that the wire has for their list."""

    name: str
    items: tuple[Struct, ...]


@encoded.register
def _(body: Many, version: Version) -> object:
    return {body.name: [encoded(item, version) for item in body.items]}


def ping() -> Request[tuple[Ping, ...]]:
    return Request("GET", "/ping/", PingsAnswer, codec.pings, api=API, safe=True)


def config() -> Request[AccountingConfig]:
    answer = wire.AccountingConfigAnswer
    return Request("GET", "/config", answer, reading.config, api=API, safe=True)


def tres() -> Request[tuple[Tres, ...]]:
    return Request("GET", "/tres/", wire.TresAnswer, reading.tres, api=API, safe=True)


# --- Accounts ------------------------------------------------------------------------------


def accounts() -> Request[tuple[Account, ...]]:
    query = (("WithCoordinators", "true"),)
    answer = wire.AccountsAnswer
    return Request("GET", "/accounts/", answer, reading.accounts, query=query, api=API, safe=True)


def account(name: str) -> Request[Account]:
    reader = reading.first(reading.accounts, f"account: {name}")
    path, query = f"/account/{segment(name)}", (("with_coords", "true"),)
    answer = wire.AccountsAnswer
    return Request("GET", path, answer, reader, query=query, absent=NOTHING, api=API, safe=True)


def add_account(account: Account, *, cluster: str = "", parent: str = "") -> Request[bool]:
    """Add an account with its association, on every cluster unless one is named.

    Whether it was added: what is there already stays as it is. Only an account with an association
    can hold users or run jobs.
    """
    body = NewAccount(account, cluster, parent)
    path, answer = "/accounts_association/", wire.AddedAnswer
    return Request("POST", path, answer, reading.added, body, api=API)


def write_accounts(items: Iterable[Account]) -> Request[None]:
    """Accounts that are new get no association: see `add_account`."""
    body = Many("accounts", tuple(items))
    return Request("POST", "/accounts/", Answer, codec.done, body, api=API)


def delete_account(name: str) -> Request[None]:
    path = f"/account/{segment(name)}"
    return Request("DELETE", path, Answer, codec.done, absent=NOTHING, api=API)


# --- Users ---------------------------------------------------------------------------------


IN_FULL: Final = (("with_assocs", "true"),)
"""Without its associations, a user is shown without its default account."""


def users() -> Request[tuple[User, ...]]:
    answer = wire.UsersAnswer
    return Request("GET", "/users/", answer, reading.users, query=IN_FULL, api=API, safe=True)


def user(name: str) -> Request[User]:
    reader = reading.first(reading.users, f"user: {name}")
    path, answer = f"/user/{segment(name)}", wire.UsersAnswer
    return Request("GET", path, answer, reader, query=IN_FULL, absent=NOTHING, api=API, safe=True)


def add_user(user: User, account: str, *, cluster: str = "") -> Request[bool]:
    """Add a user with its association in an account, on every cluster unless one is named.

    Whether it was added: if not, it was there already, or the account is not. Slurm does not say
    which.
    """
    body = NewUser(user, account, cluster)
    return Request("POST", "/users_association/", wire.AddedAnswer, reading.added, body, api=API)


def write_users(items: Iterable[User]) -> Request[None]:
    """Users that are new get no association: see `add_user`."""
    return Request("POST", "/users/", Answer, codec.done, Many("users", tuple(items)), api=API)


def delete_user(name: str) -> Request[None]:
    path = f"/user/{segment(name)}"
    return Request("DELETE", path, Answer, codec.done, absent=NOTHING, api=API)


# --- Associations --------------------------------------------------------------------------


def _association_query(**given: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in given.items() if value)


def associations(
    *, account: str = "", cluster: str = "", user: str = "", partition: str = ""
) -> Request[tuple[Association, ...]]:
    query = _association_query(account=account, cluster=cluster, user=user, partition=partition)
    path, answer = "/associations/", wire.AssociationsAnswer
    return Request("GET", path, answer, reading.associations, query=query, api=API, safe=True)


def write_associations(items: Iterable[Association]) -> Request[None]:
    """Change associations, or add users to accounts; each needs its cluster.

    Slurm ignores without a word one that it cannot make (an unknown account, cluster or default
    QOS), and every new one of an account: see `add_account`.
    """
    body = Many("associations", tuple(items))
    return Request("POST", "/associations/", Answer, codec.done, body, api=API)


def delete_association(
    *, account: str, cluster: str = "", user: str = "", partition: str = ""
) -> Request[None]:
    query = _association_query(account=account, cluster=cluster, user=user, partition=partition)
    path = "/association/"
    return Request("DELETE", path, Answer, codec.done, query=query, absent=NOTHING, api=API)


# --- QOS -----------------------------------------------------------------------------------


def all_qos() -> Request[tuple[Qos, ...]]:
    return Request("GET", "/qos/", wire.QosAnswer, reading.qos, api=API, safe=True)


def qos(name: str) -> Request[Qos]:
    reader = reading.first(reading.qos, f"QOS: {name}")
    path = f"/qos/{segment(name)}"
    return Request("GET", path, wire.QosAnswer, reader, absent=NOTHING, api=API, safe=True)


def write_qos(items: Iterable[Qos]) -> Request[None]:
    """Flags and preempt modes become those given here, also if none are; the rest is kept."""
    return Request("POST", "/qos/", Answer, codec.done, Many("qos", tuple(items)), api=API)


def delete_qos(name: str) -> Request[None]:
    path = f"/qos/{segment(name)}"
    return Request("DELETE", path, Answer, codec.done, absent=NOTHING, api=API)


# --- Clusters and jobs ---------------------------------------------------------------------


def clusters() -> Request[tuple[Cluster, ...]]:
    return Request("GET", "/clusters/", wire.ClustersAnswer, reading.clusters, api=API, safe=True)


def cluster(name: str) -> Request[Cluster]:
    reader = reading.first(reading.clusters, f"cluster: {name}")
    path, answer = f"/cluster/{segment(name)}", wire.ClustersAnswer
    return Request("GET", path, answer, reader, absent=NOTHING, api=API, safe=True)


def past_jobs(
    *, start: int | None = None, end: int | None = None, user: str = "", cluster: str = ""
) -> Request[tuple[PastJob, ...]]:
    """Jobs of a time: slurmdbd's own default is the day so far."""
    told = {"start_time": start, "end_time": end, "users": user, "cluster": cluster}
    query = tuple((name, str(value)) for name, value in told.items() if value)
    path, answer = "/jobs/", wire.PastJobsAnswer
    return Request("GET", path, answer, reading.past_jobs, query=query, api=API, safe=True)


def past_job(job_id: int) -> Request[PastJob]:
    reader = reading.first(reading.past_jobs, f"job: {job_id}")
    path, answer = f"/job/{job_id}", wire.PastJobsAnswer
    return Request("GET", path, answer, reader, absent=NOTHING, api=API, safe=True)
