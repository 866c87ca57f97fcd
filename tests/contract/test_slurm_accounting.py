"""slurmdbd's half of the API, alike on the fake and on a real slurmdbd with MariaDB."""

import itertools
import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
from msgspec import structs

from tests.contract.slurm_world import (
    NEWEST,
    Accounted,
    World,
    fake_accounted,
    real_accounted,
)
from windlass.slurm import requests, slurmdb
from windlass.slurm.accounting import Account, Association, Qos, User
from windlass.slurm.call import Request
from windlass.slurm.errors import Absent, Busy, Errno, Refused, Unauthorized, Unavailable
from windlass.slurm.model import UNLIMITED
from windlass.slurm.versions import Version

CLUSTER: Final = "contract"
_NUMBERS: Final = itertools.count()


WORLDS: Final = [("fake", NEWEST), *(("real", version) for version in Version)]


@pytest.fixture(scope="module", params=["fake", "real"])
def both(request: pytest.FixtureRequest) -> Accounted:
    """Each of the two, for what is not a matter of versions."""
    return accounted(request, request.param)


def accounted(request: pytest.FixtureRequest, kind: str) -> Accounted:
    if kind == "fake":
        return fake_accounted()
    return real_accounted(request.getfixturevalue("accounted_slurm"))


@pytest.fixture(scope="module", params=WORLDS, ids=lambda it: f"{it[0]}-{it[1].name.lower()}")
def each(request: pytest.FixtureRequest) -> tuple[Accounted, Version]:
    """The fake, and the real one in all its versions."""
    kind, version = request.param
    return accounted(request, kind), version


@pytest.fixture
def world(each: tuple[Accounted, Version]) -> Iterator[World]:
    slurm, version = each
    with slurm.world(version) as made:
        yield made


@pytest.fixture
def newest(both: Accounted) -> Iterator[World]:
    with both.world(NEWEST) as made:
        yield made


def fresh(kind: str) -> str:
    """A name that no other test has."""
    return f"{kind}{next(_NUMBERS)}"


def account_of(world: World, **fields: str) -> str:
    name = fresh("account")
    assert world.send(slurmdb.add_account(Account(name), cluster=CLUSTER, **fields))
    return name


def user_of(world: World, account: str) -> str:
    name = fresh("user")
    assert world.send(slurmdb.add_user(User(name), account, cluster=CLUSTER))
    return name


def the_association(world: World, account: str, user: str = "") -> Association:
    found = world.send(slurmdb.associations(account=account, cluster=CLUSTER))
    (one,) = [each for each in found if each.user == user]
    return one


# --- What is always there ------------------------------------------------------------------


def test_ping(world: World) -> None:
    (ping,) = world.send(slurmdb.ping())

    assert (ping.responding, ping.primary) == (True, True)


def test_tres(world: World) -> None:
    kinds = {each.id: each.type for each in world.send(slurmdb.tres())}

    assert {1: "cpu", 2: "mem", 4: "node"}.items() <= kinds.items()


def test_a_slurmctld_registers_its_cluster(world: World, each: tuple[Accounted, Version]) -> None:
    cluster = world.send(slurmdb.cluster(CLUSTER))

    assert (cluster.host, cluster.port) == ("127.0.0.1", each[0].slurmctld_port)
    assert "cpu" in {kind.type for kind in cluster.tres}
    assert cluster in world.send(slurmdb.clusters())


def test_the_whole_configuration_has_what_each_list_has(world: World) -> None:
    user = user_of(world, account_of(world))
    config = world.send(slurmdb.config())
    accounts, qos = world.send(slurmdb.accounts()), world.send(slurmdb.all_qos())

    assert sorted(config.accounts, key=str) == sorted(accounts, key=str)
    assert sorted(config.qos, key=str) == sorted(qos, key=str)
    assert config.tres == world.send(slurmdb.tres())
    assert {each.name for each in config.clusters} == {CLUSTER}
    assert user in {each.name for each in config.users}
    assert user in {each.user for each in config.associations}


# --- Accounts, users and associations ------------------------------------------------------


def test_an_account_is_written_changed_and_deleted(world: World) -> None:
    name = fresh("account")
    world.send(slurmdb.write_accounts([Account(name, "first", "physics")]))
    assert world.send(slurmdb.account(name)) == Account(name, "first", "physics")
    world.send(slurmdb.write_accounts([Account(name, "second", "physics")]))
    assert world.send(slurmdb.account(name)).description == "second"

    world.send(slurmdb.delete_account(name))

    with pytest.raises(Absent):
        world.send(slurmdb.account(name))


def test_only_an_added_account_has_an_association(world: World) -> None:
    written, parent = fresh("account"), account_of(world)
    world.send(slurmdb.write_accounts([Account(written)]))
    child = account_of(world, parent=parent)

    assert world.send(slurmdb.associations(account=written)) == ()
    assert the_association(world, child).parent == parent


def test_what_is_there_is_not_added_again(world: World) -> None:
    account = account_of(world)
    user = user_of(world, account)

    assert not world.send(slurmdb.add_account(Account(account), cluster=CLUSTER))
    assert not world.send(slurmdb.add_user(User(user), account, cluster=CLUSTER))


def test_without_a_cluster_all_get_an_association(world: World) -> None:
    account, user = fresh("account"), fresh("user")
    world.send(slurmdb.add_account(Account(account)))
    world.send(slurmdb.add_user(User(user), account))

    assert the_association(world, account, user).is_default


def test_an_added_user_has_its_default_account(world: World) -> None:
    account = account_of(world)
    name = user_of(world, account)
    user = world.send(slurmdb.user(name))

    assert user == User(name, "None", account)
    assert user in world.send(slurmdb.users())


def test_a_user_keeps_its_default_account_when_added_to_another(world: World) -> None:
    first, second = account_of(world), account_of(world)
    user = user_of(world, first)

    world.send(slurmdb.add_user(User(user), second, cluster=CLUSTER))

    assert world.send(slurmdb.user(user)).default_account == first
    assert not the_association(world, second, user).is_default


def test_a_user_is_written_changed_and_deleted(world: World) -> None:
    name = fresh("user")
    world.send(slurmdb.write_users([User(name, "Operator")]))
    assert world.send(slurmdb.user(name)).administrator == "Operator"
    world.send(slurmdb.write_users([User(name, "Administrator")]))
    assert world.send(slurmdb.user(name)).administrator == "Administrator"

    world.send(slurmdb.delete_user(name))

    with pytest.raises(Absent):
        world.send(slurmdb.user(name))


def test_an_association_is_changed_in_all_that_can_be_written(world: World) -> None:
    account = account_of(world)
    user = user_of(world, account)
    wanted = Association(
        account,
        CLUSTER,
        user,
        shares=5,
        qos=("normal",),
        default_qos="normal",
        is_default=True,
        max_jobs=3,
        max_submitted=7,
        max_wall_minutes=60,
        priority=11,
    )
    world.send(slurmdb.write_associations([wanted]))
    seen = the_association(world, account, user)

    assert structs.replace(seen, id=0) == wanted


def test_a_limit_is_taken_away_by_unlimited(world: World) -> None:
    account = account_of(world)
    world.send(slurmdb.write_associations([Association(account, CLUSTER, max_jobs=3)]))
    assert the_association(world, account).max_jobs == 3

    world.send(slurmdb.write_associations([Association(account, CLUSTER, max_jobs=UNLIMITED)]))

    assert the_association(world, account).max_jobs == UNLIMITED


def test_a_written_association_adds_a_user_to_an_account(world: World) -> None:
    first, second = account_of(world), account_of(world)
    user = user_of(world, first)
    world.send(slurmdb.write_associations([Association(second, CLUSTER, user)]))

    found = world.send(slurmdb.associations(user=user))

    assert {(each.account, each.is_default) for each in found} == {(first, True), (second, False)}


def test_an_association_is_deleted_alone(world: World) -> None:
    account = account_of(world)
    user = user_of(world, account)
    world.send(slurmdb.delete_association(account=account, cluster=CLUSTER, user=user))

    assert world.send(slurmdb.associations(account=account, user=user)) == ()
    assert the_association(world, account).account == account


def test_what_slurm_cannot_associate_it_ignores_without_a_word(newest: World) -> None:
    user = user_of(newest, account_of(newest))
    newest.send(slurmdb.write_associations([Association("absent", CLUSTER, user)]))
    newest.send(slurmdb.write_associations([Association("root", "absent", user)]))

    assert len(newest.send(slurmdb.associations(user=user))) == 1


def test_a_new_association_has_no_limits(newest: World) -> None:
    account = account_of(newest)
    seen = the_association(newest, account, user_of(newest, account))

    limits = {seen.max_jobs, seen.max_submitted, seen.max_wall_minutes, seen.priority}
    assert limits == {UNLIMITED}
    assert (seen.shares, seen.qos, seen.parent, seen.is_default) == (1, ("normal",), "", True)
    assert the_association(newest, account).parent == "root"


def test_an_association_makes_no_user(newest: World) -> None:
    account, name = account_of(newest), fresh("user")
    newest.send(slurmdb.write_associations([Association(account, CLUSTER, name)]))

    assert the_association(newest, account, name).is_default
    with pytest.raises(Absent):
        newest.send(slurmdb.user(name))


def test_a_default_qos_that_is_not_there_is_ignored_without_a_word(newest: World) -> None:
    account = account_of(newest)
    wanted = Association(account, CLUSTER, default_qos="absent", max_jobs=3)
    newest.send(slurmdb.write_associations([wanted]))

    assert the_association(newest, account).default_qos == ""


def test_a_user_outlives_its_only_account(newest: World) -> None:
    account = account_of(newest)
    user = user_of(newest, account)
    newest.send(slurmdb.delete_account(account))

    assert newest.send(slurmdb.user(user)) == User(user)
    assert newest.send(slurmdb.associations(user=user)) == ()


def test_an_account_without_an_association_can_get_one(newest: World) -> None:
    name = fresh("account")
    newest.send(slurmdb.write_accounts([Account(name, "kept")]))

    assert newest.send(slurmdb.add_account(Account(name, "new")))
    assert the_association(newest, name).parent == "root"
    assert newest.send(slurmdb.account(name)).description == "kept"


def test_a_user_is_not_added_to_an_account_that_is_not_there(newest: World) -> None:
    name = fresh("user")

    assert not newest.send(slurmdb.add_user(User(name), "absent", cluster=CLUSTER))
    with pytest.raises(Absent):
        newest.send(slurmdb.user(name))


# --- QOS -----------------------------------------------------------------------------------


def test_a_qos_is_written_in_all_that_can_be_written_and_deleted(world: World) -> None:
    name = fresh("qos")
    wanted = Qos(
        name,
        description="urgent",
        flags=frozenset({"DENY_LIMIT"}),
        priority=10,
        preempts=("normal",),
        preempt_modes=frozenset({"REQUEUE"}),
        usage_factor=2.5,
        max_jobs=5,
        max_jobs_per_user=6,
        max_jobs_per_account=7,
        max_wall_minutes=90,
    )
    world.send(slurmdb.write_qos([wanted]))
    seen = world.send(slurmdb.qos(name))

    assert structs.replace(seen, id=0) == wanted
    world.send(slurmdb.delete_qos(name))
    with pytest.raises(Absent):
        world.send(slurmdb.qos(name))


def test_a_qos_that_is_changed_keeps_all_but_its_flags(world: World) -> None:
    name = fresh("qos")
    flags = frozenset({"DENY_LIMIT"})
    world.send(slurmdb.write_qos([Qos(name, description="urgent", flags=flags, max_jobs=5)]))
    world.send(slurmdb.write_qos([Qos(name, priority=20)]))

    seen = world.send(slurmdb.qos(name))

    assert (seen.description, seen.max_jobs, seen.priority) == ("urgent", 5, 20)
    assert seen.flags == frozenset()


def test_a_new_qos_has_no_limits(newest: World) -> None:
    name = fresh("qos")
    newest.send(slurmdb.write_qos([Qos(name)]))
    seen = newest.send(slurmdb.qos(name))

    limits = [seen.max_jobs, seen.max_jobs_per_user, seen.max_jobs_per_account]
    assert {*limits, seen.max_wall_minutes} == {UNLIMITED}
    assert (seen.priority, seen.usage_factor) == (0, 1)
    assert seen.preempt_modes == {"DISABLED"}


# --- Past jobs -----------------------------------------------------------------------------


def running_job(world: World, account: str, user: str = "daemon") -> int:
    """Slurm looks users up in its own passwd file, so that this one has to be in there.

    Backfill puts a year for no limit while it starts a job, and that is what slurmdbd then keeps.
    """
    world.send(slurmdb.add_user(User(user), account, cluster=CLUSTER))
    named = {"user": user, "group": user, "account": account, "name": "past"}
    about = {"comment": "why", "extra": "{}", "time_limit": 30}
    return world.running_job(world.nodes(1), **about, **named)


def test_a_job_is_remembered(world: World) -> None:
    account, before = account_of(world), int(time.time()) - 1
    job_id = running_job(world, account)
    world.prepare(requests.cancel(job_id))
    world.wait(lambda: world.send(slurmdb.past_job(job_id)).state.ended)

    job = world.send(slurmdb.past_job(job_id))

    assert (job.name, job.user, job.account, job.cluster) == ("past", "daemon", account, CLUSTER)
    assert (job.comment, job.extra, job.partition, job.qos) == ("why", "{}", "all", "normal")
    assert (job.state.base, job.time_limit) == ("CANCELLED", 30)
    times = [job.submitted_at, job.started_at, job.ended_at]
    assert sorted(time or 0 for time in times) == times
    assert before <= (job.submitted_at or 0)
    assert {each.type: each.count for each in job.tres_allocated}["cpu"] == 1


def remembered(world: World, **query: Any) -> set[int]:
    return {job.id for job in world.send(slurmdb.past_jobs(**query))}


def test_past_jobs_are_chosen_by_time_user_and_cluster(world: World) -> None:
    before = int(time.time()) - 1
    job_id = running_job(world, account_of(world))
    world.prepare(requests.cancel(job_id))
    world.wait(lambda: world.send(slurmdb.past_job(job_id)).state.ended)
    after = int(time.time()) + 1

    assert job_id in remembered(world)
    assert job_id in remembered(world, user="daemon", start=before, end=after, cluster=CLUSTER)
    assert job_id not in remembered(world, user="root", start=before, end=after)
    assert job_id not in remembered(world, start=before - 3600, end=before - 1)
    assert remembered(world, cluster="absent") == set()


# --- Errors --------------------------------------------------------------------------------


ABSENT: list[Request[Any]] = [
    slurmdb.account("absent"),
    slurmdb.user("absent"),
    slurmdb.qos("absent"),
    slurmdb.cluster("absent"),
    slurmdb.past_job(4_000_000),
    slurmdb.delete_account("absent"),
    slurmdb.delete_user("absent"),
    slurmdb.delete_qos("absent"),
    slurmdb.delete_association(account="absent"),
]


@pytest.mark.parametrize("request_", ABSENT, ids=lambda it: f"{it.method} {it.path}")
def test_an_unknown_name_is_absent(world: World, request_: Request[Any]) -> None:
    with pytest.raises(Absent):
        world.send(request_)


FORBIDDEN: list[Request[Any]] = [
    slurmdb.write_accounts([Account("mine")]),
    slurmdb.add_account(Account("mine"), cluster=CLUSTER),
    slurmdb.write_users([User("me")]),
    slurmdb.add_user(User("me"), "root", cluster=CLUSTER),
    slurmdb.write_associations([Association("root", CLUSTER, "root", shares=9)]),
    slurmdb.write_qos([Qos("mine")]),
    slurmdb.delete_account("root"),
    slurmdb.delete_user("root"),
    slurmdb.delete_association(account="root", cluster=CLUSTER, user="root"),
    slurmdb.delete_qos("normal"),
]


@pytest.mark.parametrize("request_", FORBIDDEN, ids=lambda it: f"{it.method} {it.path}")
def test_who_is_no_administrator_may_not_write(world: World, request_: Request[Any]) -> None:
    with pytest.raises(Unauthorized):
        world.send_as(world.plain, request_)


def test_a_bad_token_looks_like_a_silent_database(world: World) -> None:
    for client in (world.forged, world.nameless):
        with pytest.raises(Unavailable) as caught:
            world.send_as(client, slurmdb.users())
        assert caught.value.name == "ESLURM_DB_CONNECTION"
        with pytest.raises(Unauthorized):
            world.send_as(client, requests.diag())


REFUSED: list[tuple[Request[Any], Errno]] = [
    (
        slurmdb.add_account(Account("new"), cluster=CLUSTER, parent="absent"),
        Errno.ESLURM_INVALID_PARENT_ACCOUNT,
    ),
    (
        slurmdb.add_account(Account("new"), cluster="absent"),
        Errno.ESLURM_INVALID_CLUSTER_NAME,
    ),
    (
        slurmdb.write_associations([Association("root", CLUSTER, "root", qos=("absent",))]),
        Errno.ESLURM_INVALID_QOS,
    ),
    (
        slurmdb.write_qos([Qos("normal", flags=frozenset({"ABSENT"}))]),
        Errno.ESLURM_DATA_FLAGS_INVALID,
    ),
    (slurmdb.past_jobs(user="absent"), Errno.ESLURM_USER_ID_UNKNOWN),
]


@pytest.mark.parametrize(("request_", "errno"), REFUSED, ids=lambda it: getattr(it, "name", "of"))
def test_what_makes_no_sense_is_refused(world: World, request_: Request[Any], errno: Errno) -> None:
    with pytest.raises(Refused) as caught:
        world.send(request_)

    assert caught.value.errno == errno


def test_what_a_job_runs_in_is_busy(newest: World) -> None:
    account = account_of(newest)
    job_id = running_job(newest, account, "games")
    for request in (
        slurmdb.delete_user("games"),
        slurmdb.delete_account(account),
        slurmdb.delete_association(account=account, cluster=CLUSTER, user="games"),
    ):
        with pytest.raises(Busy) as caught:
            newest.send(request)
        assert caught.value.name == "ESLURM_JOBS_RUNNING_ON_ASSOC"
    newest.send(requests.cancel(job_id))


def test_the_default_account_of_a_user_who_has_others_is_not_deleted(newest: World) -> None:
    default, other = account_of(newest), account_of(newest)
    user = user_of(newest, default)
    newest.send(slurmdb.add_user(User(user), other, cluster=CLUSTER))

    with pytest.raises(Refused) as caught:
        newest.send(slurmdb.delete_account(default))

    assert caught.value.name == "ESLURM_NO_REMOVE_DEFAULT_ACCOUNT"


EVERY_KIND: list[Request[Any]] = [
    slurmdb.ping(),
    slurmdb.config(),
    slurmdb.tres(),
    slurmdb.accounts(),
    slurmdb.user("root"),
    slurmdb.associations(),
    slurmdb.all_qos(),
    slurmdb.clusters(),
    slurmdb.past_jobs(),
    slurmdb.write_accounts([Account("late")]),
    slurmdb.add_user(User("late"), "root"),
    slurmdb.delete_qos("late"),
]


@pytest.mark.parametrize("what", ["database", "slurmdbd"])
def test_without_it_accounting_is_unavailable_and_slurm_is_not(
    newest: World, both: Accounted, what: str
) -> None:
    account = account_of(newest)
    both.outages[what].rest()
    for request in EVERY_KIND:
        with pytest.raises(Unavailable):
            newest.send(request)
    assert newest.send(requests.ping())[0].responding
    both.outages[what].wake()

    assert newest.send(slurmdb.account(account)).name == account
