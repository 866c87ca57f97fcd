import pytest

from windlass.bridge.annotations import Wishes
from windlass.bridge.identity import (
    Asker,
    Grant,
    Identity,
    Policy,
    Table,
    grant,
    judge,
    parse,
    settled,
    stamp,
)
from windlass.values.malformed import Malformed

TABLE = parse("""
users:
  alice@example.org: {user: alice, accounts: [physics, chemistry]}
groups:
  "oidc:staff": {user: staff, chooseUser: true, choosePriority: true}
namespaces:
  team: {user: team, group: teams, accounts: [teamwork], qos: [normal], partitions: [cpu, gpu]}
default: {user: guest}
""")
POLICY = Policy(TABLE, accounting=True)
JOB = "metadata.annotations[slurmjob.slinky.slurm.net/"


def asker(namespace: str = "team", user: str = "", *groups: str, **said: str) -> Asker:
    notes = {
        f"scheduler.slinky.slurm.net/{name.replace('_', '-')}": text for name, text in said.items()
    }
    return Asker(namespace, user, groups, notes)


@pytest.mark.parametrize(
    ("asker", "identity"),
    [
        (asker("team"), Identity("team", "teams", "teamwork")),
        (asker("other"), Identity("guest")),
        (asker("team", "alice@example.org"), Identity("alice", None, "physics")),
        (asker("other", "alice@example.org"), Identity("alice", None, "physics")),
        (asker("team", "bob", "x", "oidc:staff"), Identity("staff")),
        (
            asker("team", "system:serviceaccount:kube-system:job-controller"),
            Identity("team", "teams", "teamwork"),
        ),
        (asker("other", slurm_account="a, b"), Identity(None, None, "a")),
        (asker("team", slurm_account="a"), Identity("team", "teams", "a")),
        (asker("team", slurm_user="u"), Identity("u", "teams", "teamwork")),
    ],
)
def test_the_nearest_line_says_who_one_is(asker: Asker, identity: Identity) -> None:
    found = judge(asker, Wishes(), POLICY)
    assert found.identity == identity
    assert not found.findings


@pytest.mark.parametrize(
    ("asker", "wishes", "refused"),
    [
        (asker(), Wishes(account="teamwork", qos="normal", partition="gpu,cpu"), []),
        (asker(), Wishes(account="physics"), ["account"]),
        (asker(), Wishes(qos="high"), ["qos"]),
        (asker(), Wishes(partition="cpu,big"), ["partition"]),
        (asker(), Wishes(user="team", group="teams"), []),
        (asker(), Wishes(user="alice"), ["user-id"]),
        (asker(), Wishes(user="0"), ["user-id"]),
        (asker(), Wishes(group="wheel"), ["group-id"]),
        (asker(), Wishes(priority=1), ["priority"]),
        (asker("team", "b", "oidc:staff"), Wishes(user="bob", group="g", priority=1), []),
        (asker("team", "b", "oidc:staff"), Wishes(user="root"), ["user-id"]),
        (asker("other"), Wishes(account="any", qos="any"), []),
    ],
)
def test_nobody_takes_what_is_not_theirs(asker: Asker, wishes: Wishes, refused: list[str]) -> None:
    found = judge(asker, wishes, POLICY)
    assert [one.field for one in found.findings] == [f"{JOB}{name}]" for name in refused]


@pytest.mark.parametrize("said", ["nobody", "0x0"])
def test_a_namespace_of_somebody_whom_slurm_takes_for_another_is_refused(said: str) -> None:
    (found,) = judge(asker("other", slurm_user=said), Wishes(), Policy()).findings
    assert found.field == "metadata.namespace"
    assert said in found.sentence


def test_who_may_choose_is_whom_they_choose() -> None:
    found = judge(asker("team", "b", "oidc:staff"), Wishes(user="bob", group="g"), POLICY)
    assert found.identity == Identity("bob", "g", None)


def test_a_refused_user_is_never_used() -> None:
    assert judge(asker(), Wishes(user="alice"), POLICY).identity.user == "team"


@pytest.mark.parametrize(("accounting", "problems"), [(True, 1), (False, 0)])
def test_a_job_of_nobody_is_refused_where_slurm_accounts_for_jobs(
    accounting: bool, problems: int
) -> None:
    found = judge(asker("other"), Wishes(), Policy(Table(), accounting=accounting))
    assert found.identity == Identity()
    assert len(found.findings) == problems


def test_without_a_table_nobody_chooses_a_user_either() -> None:
    found = judge(asker(), Wishes(user="alice", priority=3), Policy())
    assert len(found.findings) == 2
    assert found.identity == Identity()


def test_what_follows_from_the_person_is_written_on_the_pod() -> None:
    alice = asker("other", "alice@example.org")
    assert stamp(alice, Wishes(), POLICY) == {
        "slurmjob.slinky.slurm.net/user-id": "alice",
        "slurmjob.slinky.slurm.net/account": "physics",
    }
    assert stamp(asker("team"), Wishes(), POLICY) == {}


@pytest.mark.parametrize(
    ("asker", "far", "own", "identity"),
    [
        (asker(), Wishes(), Wishes(), Identity("team", "teams", "teamwork")),
        (asker(), Wishes(), Wishes(user="alice", account="a"), Identity("alice", "teams", "a")),
        (asker(), Wishes(account="teamwork"), Wishes(), Identity("team", "teams", "teamwork")),
        (asker("other"), Wishes(account="x"), Wishes(), Identity("guest", None, "x")),
    ],
)
def test_an_admitted_pod_is_submitted_as_what_was_written_on_it(
    asker: Asker, far: Wishes, own: Wishes, identity: Identity
) -> None:
    found = settled(asker, far, own, POLICY)
    assert found.identity == identity
    assert not found.findings


def test_what_an_owner_is_annotated_with_is_judged_like_a_pod() -> None:
    found = settled(asker(), Wishes(user="root", priority=7), Wishes(), POLICY)
    assert found.identity.user == "team"
    assert [one.field for one in found.findings] == [f"{JOB}user-id]", f"{JOB}priority]"]


def test_a_pod_with_a_user_needs_no_line_for_its_namespace() -> None:
    nowhere = Policy(Table(), accounting=True)
    assert not settled(asker("other"), Wishes(), Wishes(user="alice"), nowhere).findings
    assert settled(asker("other"), Wishes(), Wishes(), nowhere).findings


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("users: [", "while parsing"),
        ("people: {}", "unknown field `people`"),
        ("users: {a: {usr: b}}", "unknown field `usr`"),
        ("users: {a: {user: [b]}}", "Expected `str`"),
        ("- a", "Expected `object`"),
    ],
)
def test_a_bad_table_is_refused(text: str, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        parse(text)


def test_an_empty_table_gives_nothing() -> None:
    assert grant(asker(), parse("")) is None
    assert grant(asker(), parse("default: {}")) == Grant()
