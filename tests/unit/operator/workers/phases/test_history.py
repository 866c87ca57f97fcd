"""Revisions are written down before workers get them, and some of the old ones kept."""

from typing import Any

import pytest

from tests.unit.operator.workers.observed import NOW, kept, node_set, observed, pod
from windlass.api import labels
from windlass.kube.kinds import CONTROLLER_REVISION
from windlass.kube.objects import ControllerRevision
from windlass.operator.plan import Apply, Create, Delete, Plan
from windlass.operator.workers.past import data, fields, settled
from windlass.operator.workers.plan import plan
from windlass.operator.workers.revision import revision

W = node_set(replicas=1, slurmd={"image": "new"})
NEW = revision(W, None)


def old(number: int, **given: Any) -> ControllerRevision:
    was = node_set(slurmd={"image": f"old{number}"})
    return kept(was, number, revision=f"old{number}", **given)


def written(done: Plan) -> list[tuple[str, str, int]]:
    return [
        (type(step).__name__, step.body["metadata"]["name"], step.body["revision"])
        for step in done.steps
        if isinstance(step, Create | Apply) and step.kind == CONTROLLER_REVISION
    ]


def forgotten(done: Plan) -> list[str]:
    found = (step for step in done.steps if isinstance(step, Delete))
    return [step.key.name for step in found if step.kind == CONTROLLER_REVISION]


def planned(*revisions: ControllerRevision, limit: int = 0, **more: Any) -> Plan:
    of = node_set(replicas=1, slurmd={"image": "new"}, revisionHistoryLimit=limit)
    return plan(observed(of, revisions=revisions, **more), NOW)


def test_a_new_revision_is_written_before_its_first_worker() -> None:
    done = planned()
    made = [step.body["kind"] for step in done.steps if isinstance(step, Create)]
    assert made == ["ControllerRevision", "Pod"]
    assert written(done) == [("Create", f"w-{NEW}", 1)]


def test_it_says_which_pods_are_its_own_and_what_the_spec_was() -> None:
    (step,) = [each for each in planned().steps if isinstance(each, Create) and "data" in each.body]
    assert step.body["metadata"]["labels"][labels.REVISION] == NEW
    assert step.body["metadata"]["ownerReferences"][0]["uid"] == "u-w"
    assert step.body["data"] == {
        "spec": {
            "template": {"$patch": "replace"},
            "slurmd": {"image": "new"},
            "ssh": {},
            "extraConf": "",
            "ordinalPadding": 0,
            "oversubscribeNode": False,
        }
    }


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ((old(4),), [("Create", f"w-{NEW}", 5)]),
        ((kept(W, 3), old(2)), []),
        ((kept(W, 1), old(2)), [("Apply", f"w-{NEW}", 3)]),
        ((kept(W, 1, metadata={"ownerReferences": []}),), [("Apply", f"w-{NEW}", 1)]),
    ],
    ids=["a newer number", "it is the newest", "it comes back", "it has lost its owner"],
)
def test_the_newest_number_is_the_current_ones(
    known: tuple[ControllerRevision, ...], expected: list[Any]
) -> None:
    assert written(planned(*known, limit=9)) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(0, ["w-old1", "w-old2", "w-old3"]), (2, ["w-old1"]), (3, []), (9, [])],
)
def test_of_the_old_ones_so_many_are_kept(limit: int, expected: list[str]) -> None:
    done = planned(old(3), kept(W, 4), old(1), old(2), limit=limit)
    assert forgotten(done) == expected


def test_one_that_a_worker_still_has_is_never_forgotten() -> None:
    done = planned(old(1), old(2), kept(W, 3), pods=(pod(0, revision="old1"),))
    assert forgotten(done) == ["w-old2"]


def test_those_of_a_set_that_is_gone_are_left_to_go_with_it() -> None:
    owner = {"metadata": {"ownerReferences": [{"uid": "gone", "controller": True}]}}
    done = planned(old(1, **owner), kept(W, 1, **owner))
    assert written(done) == []
    assert forgotten(done) == []


def test_a_name_that_a_different_one_has_is_not_used() -> None:
    taken = kept(W, fields={"data": data(node_set())})
    seen = observed(W, revisions=(taken,))
    hash_, collisions = settled(seen)
    assert (hash_ != NEW, collisions) == (True, 1)
    done = plan(seen, NOW)
    assert done.status is not None
    assert done.status["collisionCount"] == 1
    assert [name for _, name, _ in written(done)] == [f"w-{hash_}"]


def test_a_revision_gives_back_the_fields_of_its_spec() -> None:
    spec: dict[str, Any] = {
        "template": {"spec": {"nodeSelector": {"a": "b"}}},
        "extraConf": "Weight=2",
    }
    found = fields(kept(node_set(**spec)))
    assert (found["template"], found["extraConf"]) == (spec["template"], "Weight=2")


def test_the_status_names_the_revision_that_all_had_until_all_have_the_new_one() -> None:
    of = node_set(
        status={"currentRevision": "w-old1"}, replicas=2, updateStrategy={"type": "OnDelete"}
    )
    some = plan(observed(of, pods=(pod(0), pod(1, revision="old1"))), NOW).status
    every = plan(observed(of, pods=(pod(0), pod(1))), NOW).status
    name = f"w-{revision(of, None)}"
    assert some is not None
    assert every is not None
    assert (some["currentRevision"], some["updateRevision"]) == ("w-old1", name)
    assert (every["currentRevision"], every["updateRevision"]) == (name, name)
