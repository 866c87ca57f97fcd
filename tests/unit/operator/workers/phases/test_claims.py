from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.host_pods import host_pod
from tests.unit.operator.workers.observed import NOW, node_set, observed, pod, slurm
from tests.unit.operator.workers.phases.courses import course, host, hosts, steps
from tests.unit.operator.workers.test_plan import made, message, said
from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import PERSISTENT_VOLUME_CLAIM
from windlass.kube.meta import Meta
from windlass.kube.objects import Pod
from windlass.operator.plan import Create, Delete, Mark, Own, Tell
from windlass.operator.workers.course import Outcome
from windlass.operator.workers.phases.claims import GRACE, claims
from windlass.operator.workers.plan import plan

DELETE: dict[str, Any] = {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}}
WITH_SET: dict[str, Any] = {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}
OWNER = {
    "apiVersion": "slinky.slurm.net/v1beta1",
    "kind": "NodeSet",
    "name": "w",
    "uid": "u-w",
    "blockOwnerDeletion": True,
    "controller": True,
}


def scratch(**spec: Any) -> NodeSet:
    return node_set(volumeClaimTemplates=[{"metadata": {"name": "scratch"}}], **spec)


def claim(suffix: str, **given: Any) -> Meta:
    body: dict[str, Any] = {
        "name": f"scratch-w-{suffix}",
        "namespace": "hpc",
        "uid": f"u-{suffix}",
        "ownerReferences": given.get("owners", []),
        "annotations": {},
    }
    if given.get("going"):
        body["deletionTimestamp"] = "2026-07-01T11:59:00Z"
    if "marked" in given:
        moment = NOW - timedelta(seconds=given["marked"])
        body["annotations"] = {labels.UNWANTED_SINCE: moment.isoformat()}
    return msgspec.convert(body, Meta)


def taint(effect: str) -> dict[str, str]:
    return {"key": "a", "effect": effect}


def mounting(of: Pod, *names: str) -> Pod:
    body = msgspec.to_builtins(of)
    body["spec"]["volumes"] = [
        {"name": "scratch", "persistentVolumeClaim": {"claimName": name}} for name in names
    ]
    return msgspec.convert(body, Pod)


def deleted(found: Outcome) -> list[str]:
    return [step.key.name for step in steps(found) if isinstance(step, Delete)]


def marked(found: Outcome) -> dict[str, bool]:
    return {
        step.key.name: step.annotations[labels.UNWANTED_SINCE] is not None
        for step in steps(found)
        if isinstance(step, Mark)
    }


def owned(found: Outcome) -> list[tuple[str, tuple[Any, ...], tuple[str, ...]]]:
    return [(s.key.name, s.add, s.remove) for s in steps(found) if isinstance(s, Own)]


# --- scaled away ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replicas", "pods", "there", "expected"),
    [
        (1, (pod(0),), ["0", "1"], ["1"]),
        (2, (pod(0), pod(1)), ["0", "1"], []),
        (1, (pod(0), pod(1)), ["0", "1"], []),
        (1, (pod(0), pod(1, going=True)), ["0", "1"], []),
        (2, (pod(0),), ["0", "1"], []),
        (2, (pod(0), pod(5)), ["0", "1", "5"], ["1"]),
        (2, (pod(0),), ["0", "5"], []),
        (0, (), ["0", "1"], ["0", "1"]),
        (1, (pod(0),), ["00", "01"], ["01"]),
        (1, (mounting(pod(0), "scratch-w-x"),), ["0", "x"], []),
    ],
    ids=[
        "one is over",
        "all are there",
        "one has to go and is there",
        "one goes and is there",
        "one was evicted and comes back",
        "a gap from a scale-in before",
        "one with a high number was evicted and comes back as it was",
        "none is wanted",
        "other padding",
        "one that a pod mounts under whatever name",
    ],
)
def test_claims_of_workers_that_are_not_wanted_any_more_go(
    replicas: int, pods: tuple[Pod, ...], there: list[str], expected: list[str]
) -> None:
    given = tuple(claim(each, marked=GRACE) for each in there)
    found = claims(course(scratch(replicas=replicas, **DELETE), pods=pods, claims=given))

    assert deleted(found) == [f"scratch-w-{each}" for each in expected]
    told = [step.reason.code for step in steps(found) if isinstance(step, Tell)]
    assert told == (["ClaimsDeleted"] if expected else [])
    kept = claims(course(scratch(replicas=replicas), pods=pods, claims=given))
    assert deleted(kept) == []


def test_a_claim_is_marked_first_deleted_later_and_forgiven_in_between() -> None:
    over = scratch(replicas=0, **DELETE)

    first = claims(course(over, claims=(claim("0"),)))
    assert (marked(first), deleted(first), first.again) == ({"scratch-w-0": True}, [], GRACE)
    waits = claims(course(over, claims=(claim("0", marked=GRACE - 1),)))
    assert (marked(waits), deleted(waits), waits.again) == ({}, [], 1)
    due = claims(course(over, claims=(claim("0", marked=GRACE),)))
    assert (marked(due), deleted(due), due.again) == ({}, ["scratch-w-0"], None)
    (gone,) = [step for step in steps(due) if isinstance(step, Delete)]
    assert gone.uid == "u-0"

    for back in (scratch(replicas=1, **DELETE), scratch(replicas=0)):
        forgiven = claims(course(back, claims=(claim("0", marked=GRACE),)))
        assert (marked(forgiven), deleted(forgiven)) == ({"scratch-w-0": False}, [])


def test_a_mark_that_cannot_be_read_is_written_anew() -> None:
    for written in ("soon", "", "2026-07-01T11:00:00"):
        odd = msgspec.structs.replace(claim("0"), annotations={labels.UNWANTED_SINCE: written})
        found = claims(course(scratch(replicas=0, **DELETE), claims=(odd,)))
        assert (marked(found), deleted(found)) == ({"scratch-w-0": True}, [])


def test_a_cordon_and_an_eviction_take_no_claim() -> None:
    """With Slinky a cordoned pod owns its claims, and takes them along."""
    cordoned = pod(0, annotations={labels.POD_CORDON: "true"})
    of = scratch(replicas=1, **DELETE)
    drained, there = slurm(w_0="IDLE+DRAIN"), hosts(host("n0", cordoned=True))

    for pods in ((cordoned,), (pod(0, phase="Failed"),), ()):
        seen = observed(of, pods=pods, claims=(claim("0"),), slurm=drained, hosts=there)
        done = plan(seen, NOW + timedelta(hours=1))
        touched = [s for s in done.steps if isinstance(s, (Delete, Mark, Own))]
        assert [s for s in touched if s.kind == PERSISTENT_VOLUME_CLAIM] == []


def test_claims_of_other_templates_and_of_other_owners_are_left_alone() -> None:
    foreign = claim("0", marked=GRACE, owners=[{**OWNER, "uid": "u-before"}])
    other = msgspec.structs.replace(claim("1", marked=GRACE), name="data-w-1")
    goes = claim("2", marked=GRACE, going=True)
    found = claims(
        course(
            scratch(
                replicas=0,
                **DELETE,
            ),
            claims=(foreign, other, goes),
        )
    )

    assert found.actions == ()


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ([host("n1.example"), host("n2")], ["0", "n3"]),
        ([host("n1.example"), host("n2", taints=[taint("NoSchedule")])], ["0", "n3"]),
        ([host("n1.example"), host("n2", taints=[taint("NoExecute")])], ["0", "n2", "n3"]),
    ],
    ids=["a host is gone", "a host keeps what it has", "a host drives all away"],
)
def test_where_every_host_has_a_worker_its_claims_are_named_after_it(
    there: list[Any], expected: list[str]
) -> None:
    given = tuple(claim(each, marked=GRACE) for each in ("0", "n1", "n2", "n3"))
    of = scratch(scalingMode="DaemonSet", **DELETE)
    found = claims(course(of, hosts=hosts(*there), pods=(host_pod("n1.example"),), claims=given))

    assert deleted(found) == [f"scratch-w-{each}" for each in expected]


# --- with the set -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "owners", "expected"),
    [
        (WITH_SET, [], [("scratch-w-0", (OWNER,), ())]),
        (WITH_SET, [OWNER], []),
        ({}, [], []),
        ({}, [OWNER], [("scratch-w-0", (), ("u-w",))]),
        ({}, [{"kind": "Pod", "uid": "u-0", "controller": True}], [("scratch-w-0", (), ("u-0",))]),
        (
            WITH_SET,
            [{"kind": "Pod", "uid": "u-0", "controller": True}],
            [("scratch-w-0", (OWNER,), ("u-0",))],
        ),
        ({}, [{"kind": "Backup", "uid": "u-b"}], []),
        (WITH_SET, [{"kind": "Backup", "uid": "u-b", "controller": True}], []),
    ],
    ids=[
        "goes with the set",
        "does so already",
        "stays",
        "stays from now on",
        "a pod was made its owner",
        "a pod, and now the set",
        "somebody else's, too",
        "somebody else manages it",
    ],
)
def test_claims_have_the_owner_that_the_policy_asks_for(
    spec: dict[str, Any], owners: list[dict[str, Any]], expected: list[Any]
) -> None:
    given = (claim("0", owners=owners),)

    assert owned(claims(course(scratch(**spec), pods=(pod(0),), claims=given))) == expected


# --- making -----------------------------------------------------------------------------------


def test_a_claim_that_is_being_deleted_holds_back_its_pod_and_no_other() -> None:
    done = plan(observed(scratch(replicas=2), claims=(claim("0", going=True),)), NOW)
    assert made(done) == ["w-1"]

    later = plan(
        observed(scratch(replicas=2), pods=(pod(1),), claims=(claim("0", going=True),)), NOW
    )
    assert made(later) == []
    assert said(later)["Progressing"] == ("True", "ClaimGoing")
    assert message(later, "Progressing").endswith("that are being deleted: w-0")


def test_only_claims_that_are_not_there_are_made() -> None:
    done = plan(observed(scratch(replicas=2), claims=(claim("0"),)), NOW)

    new = [s.body["metadata"]["name"] for s in done.steps if isinstance(s, Create)]
    assert [name for name in new if name.startswith("scratch")] == ["scratch-w-1"]


def test_a_worker_whose_claim_is_not_there_gets_it() -> None:
    said_so = [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": '0/3 nodes are available: persistentvolumeclaim "scratch-w-0" not found.',
        }
    ]
    waiting = mounting(pod(0, node=""), "scratch-w-0", "mine")
    body = msgspec.to_builtins(waiting)
    body["status"]["conditions"] = said_so
    stuck = msgspec.convert(body, Pod)

    for pods, expected in (((stuck,), ["scratch-w-0"]), ((waiting,), [])):
        done = plan(observed(scratch(), pods=pods), NOW)
        new = [s.body["metadata"]["name"] for s in done.steps if isinstance(s, Create)]
        assert [name for name in new if name.startswith("scratch")] == expected


# --- whatever is there ------------------------------------------------------------------------

some_pods = st.lists(
    st.builds(
        lambda number, going: mounting(pod(number, going=going), f"scratch-w-{number}"),
        *(st.integers(0, 6), st.booleans()),
    ),
    unique_by=lambda each: each.metadata.name,
)
some_claims = st.lists(st.integers(0, 6), unique=True)


@given(replicas=st.integers(0, 7), pods=some_pods, numbers=some_claims)
def test_no_claim_of_a_worker_that_is_there_or_comes_back_is_ever_deleted(
    replicas: int, pods: list[Pod], numbers: list[int]
) -> None:
    given = tuple(claim(str(each), marked=GRACE) for each in sorted(numbers))
    seen = observed(
        scratch(replicas=replicas, **DELETE), pods=tuple(pods), claims=given, slurm=slurm()
    )
    done = plan(seen, NOW)

    gone = {
        each.key.name
        for each in done.steps
        if isinstance(each, Delete) and each.kind == PERSISTENT_VOLUME_CLAIM
    }
    used = {f"scratch-{each.metadata.name}" for each in pods}
    assert not gone & used
    assert not gone & {f"scratch-{name}" for name in made(done)}
    # Without one too many, claims that are left over are those of the workers that come back.
    if replicas >= len(pods) + len({f"scratch-w-{each}" for each in numbers} - used):
        assert gone == set()
