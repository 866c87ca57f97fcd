from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.bridge import marker, priorities, submission
from windlass.bridge.annotations import Wishes
from windlass.bridge.gang import Gang, GangKey, Level, Member
from windlass.bridge.identity import Identity
from windlass.bridge.resources import Needs
from windlass.bridge.submission import Nodes, Settings, digest, updatable, update
from windlass.slurm.model import UNLIMITED, Job
from windlass.slurm.specs import JobSpec
from windlass.values.gres import Gres
from windlass.values.key import Key
from windlass.values.reason import Reason


def nodes(known: str, feasible: str) -> Nodes:
    return Nodes(frozenset(known.split()), frozenset(feasible.split()))


ANYWHERE = nodes("n0 n1 n2 n3", "n0 n1 n2 n3")
SETTINGS = Settings(
    cluster="blue",
    partition="bridge",
    default_memory=None,
    priorities=priorities.parse({"high": "qos=urgent", "low": "nice=50", "x": "priority=9"}),
)


def gang(*needs: Needs, **given: Any) -> Gang:
    members = tuple(
        Member(rank, each, Key("team", f"p{rank}")) for rank, each in enumerate(needs or (Needs(),))
    )
    base: dict[str, Any] = {
        "key": GangKey("Job", "team", "train"),
        "uid": "uid",
        "members": members,
        "least": len(members),
        "most": len(members),
        "name": "train",
        "levels": (Level("", given.pop("wishes", Wishes())),),
    }
    return Gang(**{**base, **given})


NOBODY = Identity()


def job(of: Gang, identity: Identity = NOBODY, nodes: Nodes = ANYWHERE) -> JobSpec:
    spec = submission.job(of, SETTINGS, identity, nodes)
    assert isinstance(spec, JobSpec)
    return spec


def said(spec: JobSpec, *names: str) -> dict[str, Any]:
    """The named fields that are set."""
    found = {name: getattr(spec, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


SHAPE = (
    "min_nodes",
    "max_nodes",
    "min_cpus",
    "tasks",
    "tasks_per_node",
    "cpus_per_task",
    "memory_per_node",
    "memory_per_cpu",
    "tres_per_node",
    "tres_per_task",
)


def test_a_pod_asks_for_one_node() -> None:
    spec = job(gang(Needs(3, 100, (Gres("gpu", "h100", 2),))))
    assert said(spec, *SHAPE) == {
        "min_nodes": 1,
        "max_nodes": 1,
        "min_cpus": 3,
        "tasks": 1,
        "tasks_per_node": 1,
        "cpus_per_task": 3,
        "memory_per_node": 100,
        "tres_per_node": "gres/gpu:h100:2",
    }


def test_a_gang_asks_for_tasks_so_that_several_may_share_a_node() -> None:
    spec = job(gang(*[Needs(3, 100, (Gres("gpu", "", 1),))] * 4))
    assert said(spec, *SHAPE) == {
        "min_nodes": 1,
        "min_cpus": 12,
        "tasks": 4,
        "cpus_per_task": 3,
        "memory_per_cpu": 34,
        "tres_per_task": "gres/gpu:1",
    }


def test_a_task_is_what_the_neediest_member_needs() -> None:
    spec = job(gang(Needs(8), Needs(2, 64, (Gres("gpu", "", 4),))))
    assert said(spec, "tasks", "cpus_per_task", "memory_per_cpu", "tres_per_task") == {
        "tasks": 2,
        "cpus_per_task": 8,
        "memory_per_cpu": 8,
        "tres_per_task": "gres/gpu:4",
    }


def test_a_gang_that_may_start_with_fewer_has_one_pod_on_a_node() -> None:
    spec = job(gang(*[Needs(2, 100)] * 4, least=2))
    assert said(spec, *SHAPE) == {
        "min_nodes": 2,
        "max_nodes": 4,
        "min_cpus": 4,
        "tasks_per_node": 1,
        "cpus_per_task": 2,
        "memory_per_node": 100,
    }


def test_a_gang_that_names_the_memory_of_a_node_has_one_pod_on_a_node() -> None:
    needs = Needs(1, 512)
    spec = job(gang(needs, needs, wishes=Wishes(memory=512)))
    assert said(spec, "min_nodes", "max_nodes", "tasks", "tasks_per_node", "memory_per_node") == {
        "min_nodes": 2,
        "max_nodes": 2,
        "tasks": 2,
        "tasks_per_node": 1,
        "memory_per_node": 512,
    }


def test_the_job_is_external_and_never_queued_again() -> None:
    spec = job(gang())
    assert (spec.external, spec.requeue, spec.script) == (True, False, None)
    assert (spec.partition, spec.mcs_label, spec.name) == ("bridge", "kubernetes", "train")


def test_the_wishes_go_before_the_settings() -> None:
    wishes = Wishes(
        account="a",
        comment="c",
        constraints="ib",
        exclusive=True,
        job_name="night",
        licenses="x:1",
        max_nodes=3,
        min_nodes=2,
        partition="gpu",
        priority=5,
        qos="q",
        reservation="r",
        time_limit=UNLIMITED,
        wckey="w",
    )
    spec = job(
        gang(Needs(), Needs(), Needs(), wishes=wishes, time_limit=7, priority_class="high"),
        Identity("alice", "staff", "other"),
    )
    assert said(spec, "account", "comment", "constraints", "name", "licenses", "partition") == {
        "account": "a",
        "comment": "c",
        "constraints": "ib",
        "name": "night",
        "licenses": "x:1",
        "partition": "gpu",
    }
    assert (spec.min_nodes, spec.max_nodes, spec.shared) == (2, 3, ("none",))
    assert (spec.priority, spec.qos, spec.reservation, spec.wckey) == (5, "q", "r", "w")
    assert spec.time_limit == UNLIMITED
    assert (spec.user, spec.group) == ("alice", "staff")


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("high", {"qos": "urgent"}),
        ("low", {"nice": 50}),
        ("x", {"priority": 9}),
        ("unheard-of", {}),
        ("", {}),
    ],
)
def test_a_priority_class_is_looked_up(name: str, rank: dict[str, Any]) -> None:
    assert said(job(gang(priority_class=name)), "qos", "nice", "priority") == rank


def test_licences_of_all_pods_add_up() -> None:
    one, two = Needs(licenses=(("cad", 1),)), Needs(licenses=(("cad", 2), ("sim", 1)))
    assert job(gang(one, two, wishes=Wishes(licenses="z"))).licenses == "z,cad:3,sim:1"


@pytest.mark.parametrize("default", [200, 256, None])
def test_a_pod_without_memory_gets_the_default(default: int | None) -> None:
    settings = Settings(cluster="b", default_memory=default)
    alone = submission.job(gang(), settings, NOBODY, ANYWHERE)
    pair = submission.job(gang(Needs(), Needs()), settings, NOBODY, ANYWHERE)
    assert isinstance(alone, JobSpec)
    assert isinstance(pair, JobSpec)
    assert (alone.memory_per_node, pair.memory_per_cpu) == (default, default)


def test_nodes_that_do_not_take_the_pods_are_left_out() -> None:
    spec = job(gang(), nodes=nodes("n0 n1 n2 n3", "n2"))
    assert (spec.required_nodes, spec.excluded_nodes) == (("n2",), None)
    gone = job(gang(Needs(), Needs()), nodes=nodes("n0 n1 n3 m", "n0 n1 n3"))
    assert (gone.required_nodes, gone.excluded_nodes) == (None, ("m",))


@pytest.mark.parametrize(
    ("gang", "nodes", "code"),
    [
        (gang(), nodes("n0", ""), "NoNodeFits"),
        (gang(*[Needs()] * 3, least=2), nodes("n0", "n0"), "TooFewNodesFit"),
        (
            gang(*[Needs()] * 3, wishes=Wishes(memory=1, max_nodes=2)),
            ANYWHERE,
            "TooFewNodesAllowed",
        ),
        (gang(wishes=Wishes(min_nodes=2)), ANYWHERE, "TooFewPods"),
    ],
)
def test_what_slurm_can_never_start_is_not_submitted(gang: Gang, nodes: Nodes, code: str) -> None:
    found = submission.job(gang, SETTINGS, Identity(), nodes)
    assert isinstance(found, Reason)
    assert found.code == code


@pytest.mark.parametrize(
    ("feasible", "why"),
    [
        ("", "none of 2 nodes takes the pods"),
        ("n1", "none of 2 nodes takes the pods; 1 would, but others have its ports or its room"),
    ],
)
def test_others_that_are_in_the_way_are_told_of(feasible: str, why: str) -> None:
    left = nodes("n0 n1", feasible).without(frozenset({"n1"}))
    found = submission.job(gang(), SETTINGS, Identity(), left)
    assert isinstance(found, Reason)
    assert found.sentence == why


def test_the_job_says_whose_it_is() -> None:
    spec = job(gang(attempt="2"))
    found = marker.ours(Job(1, admin_comment=spec.admin_comment or ""), "blue")
    assert found is not None
    assert found.identity == ("blue", GangKey("Job", "team", "train"), "uid", "2")
    assert found.pods == (Key("team", "p0"),)
    assert found.digest == digest(spec)


def test_the_digest_changes_with_what_is_asked_for_and_with_nothing_else() -> None:
    one, same = job(gang()), job(gang(uid="other"))
    more = job(gang(Needs(2)))
    assert digest(one) == digest(same) != digest(more)


ONE = gang(Needs(2, 10))
TWO = gang(Needs(2, 10), Needs(2, 10))


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        (job(TWO), job(gang(*[Needs(1, 5)] * 3)), True),
        (job(ONE), job(ONE, nodes=nodes("n0 n1", "n1")), True),
        (job(ONE), job(gang(Needs(2, 10), name="other")), True),
        (job(ONE), job(TWO), False),
        (job(ONE), job(ONE, Identity("alice")), False),
        (job(ONE), job(gang(Needs(2))), False),
        (job(ONE), job(gang(Needs(2, 10), wishes=Wishes(exclusive=True))), False),
    ],
)
def test_an_update_changes_numbers_and_nodes_and_no_more(
    before: JobSpec, after: JobSpec, same: bool
) -> None:
    assert digest(before) != digest(after)
    assert updatable(digest(before), digest(after)) is same
    assert updatable(digest(after), digest(before)) is same


def test_an_update_leaves_what_cannot_change_and_takes_lists_of_nodes_back() -> None:
    change = update(job(gang(), Identity("alice", "staff")))
    assert said(change, "external", "user", "group", "mcs_label", "shared", "requeue") == {}
    assert (change.required_nodes, change.excluded_nodes) == (("",), ("",))
    assert (change.tasks, change.min_cpus, change.name) == (1, 1, "train")


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 10**6))
def test_the_memory_of_a_task_is_never_less_than_a_pod_needs(
    pods: int, cpus: int, memory: int
) -> None:
    spec = job(gang(*[Needs(cpus, memory)] * pods))
    per_pod = spec.memory_per_node or (spec.memory_per_cpu or 0) * cpus
    assert memory <= per_pod < memory + cpus
    assert spec.min_cpus == pods * cpus


def test_a_gang_of_which_some_have_succeeded_needs_no_nodes_for_them() -> None:
    assert job(gang(wishes=Wishes(min_nodes=2), done=1)).min_nodes == 1
