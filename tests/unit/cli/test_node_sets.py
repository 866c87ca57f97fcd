"""The revisions of a NodeSet and its rollout, as people see them."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.operator.staging import Stage, staged
from tests.unit.operator.workers.observed import NOW, kept, node_set
from tests.unit.operator.workers.test_room import ROOM, cluster
from windlass.api.node_set import NodeSet
from windlass.cli.node_sets import NoSuchRevision, history, rollback, rollout
from windlass.cli.one_node_set import OneNodeSet
from windlass.kube import kinds, requests
from windlass.kube.errors import NotFound
from windlass.kube.objects import ControllerRevision
from windlass.values.key import Key


def revision(number: int, **spec: Any) -> ControllerRevision:
    made = (NOW - timedelta(hours=10 - number)).isoformat()
    return kept(
        node_set(**spec),
        number,
        revision=f"hash{number}",
        metadata={"creationTimestamp": made, "name": f"w-hash{number}"},
    )


OLD = revision(1, slurmd={"image": "a"}, extraConf="Weight=2")
NEW = revision(2, slurmd={"image": "b"})
CURRENT = {"updateRevision": "w-hash2"}


def live(**spec: Any) -> NodeSet:
    return node_set(status=CURRENT, slurmd={"image": "b"}, **spec)


def test_the_history_says_what_is_current_and_who_has_what() -> None:
    assert history(live(), [NEW, OLD], {"hash1": 3}, NOW).splitlines() == [
        "REVISION     HASH   AGE  WORKERS  IMAGE",
        "2 (current)  hash2  8h   0        b",
        "1            hash1  9h   3        a",
    ]


def test_a_set_without_revisions_says_so() -> None:
    assert history(live(), [], {}, NOW) == "NodeSet w has no revisions yet"


def test_going_back_writes_the_fields_that_differ_and_no_others() -> None:
    back = rollback(live(), [NEW, OLD], None)
    assert (back.number, back.changed) == (1, ("slurmd", "extraConf"))
    assert back.operations[1:] == (
        {"op": "add", "path": "/spec/slurmd", "value": {"image": "a"}},
        {"op": "add", "path": "/spec/extraConf", "value": "Weight=2"},
    )


def test_what_an_old_revision_did_not_have_is_removed() -> None:
    back = rollback(live(logfile={"image": "c"}), [NEW, revision(1)], 1)
    assert back.operations[1:] == (
        {"op": "remove", "path": "/spec/slurmd"},
        {"op": "remove", "path": "/spec/logfile"},
    )


@pytest.mark.parametrize(
    ("to", "known", "words"),
    [
        (7, [NEW, OLD], "has no revision 7; there are: 2, 1. spec.revisionHistoryLimit is 4"),
        (None, [NEW], "has no earlier revision; spec.revisionHistoryLimit is 4"),
        (1, [], "has no revision 1; there are: none."),
    ],
)
def test_a_revision_that_is_not_there_is_told_with_the_limit(
    to: int | None, known: list[ControllerRevision], words: str
) -> None:
    with pytest.raises(NoSuchRevision, match=words.replace(".", r"\.")):
        rollback(live(revisionHistoryLimit=4), known, to)


def condition(kind: str, message: str) -> dict[str, str]:
    since = "2026-07-01T11:00:00Z"
    said = {"type": kind, "status": "True", "reason": "R", "message": message}
    return {**said, "lastTransitionTime": since}


def shown(strategy: dict[str, Any] | None = None, **status: Any) -> NodeSet:
    counts = {"replicas": 5, "desired": 5, "readyReplicas": 5, "updatedReplicas": 5}
    conditions = [
        condition(kind, message) for kind, message in status.pop("conditions", {}).items()
    ]
    whole = {**counts, "observedGeneration": 3, **status, "conditions": conditions}
    return node_set(status=whole, updateStrategy=strategy or {})


DRAINING = "1 of 5 workers draining: w-3 runs 2 jobs, the last ends by 14:05"


@pytest.mark.parametrize(
    ("of", "sentence", "done"),
    [
        (shown(), "5 of 5 workers updated; 5 ready", True),
        (shown(observedGeneration=2), "waits for the operator to see the change", False),
        (
            shown(updatedReplicas=2, readyReplicas=4, conditions={"Progressing": DRAINING}),
            f"2 of 5 workers updated; 4 ready; {DRAINING}",
            False,
        ),
        (
            shown(readyReplicas=4, conditions={"Degraded": "w-1 does not start"}),
            "5 of 5 workers updated; 4 ready; degraded: w-1 does not start",
            False,
        ),
        (
            shown({"type": "OnDelete"}, updatedReplicas=4),
            "4 of 5 workers updated; 5 ready; updateStrategy.type is OnDelete: workers get it "
            "when you delete their pods",
            True,
        ),
        (
            shown({"paused": True}, updatedReplicas=4),
            "4 of 5 workers updated; 5 ready; updateStrategy.paused is set: workers keep their "
            "revision until it is unset",
            False,
        ),
    ],
    ids=["done", "not seen", "draining", "degraded", "on delete", "paused"],
)
def test_a_rollout_is_told_in_one_sentence(of: NodeSet, sentence: str, done: bool) -> None:
    found = rollout(of)
    assert (found.sentence, found.done) == (sentence, done)


def test_a_deletion_is_told_with_what_it_waits_for() -> None:
    gone = node_set(
        metadata={"deletionTimestamp": "2026-07-01T11:00:00Z"},
        status={"conditions": [condition("Progressing", "w-0 runs")]},
    )
    assert rollout(gone).sentence == "is being deleted; w-0 runs"


# --- on an API server in memory --------------------------------------------------------------


async def changed(stage: Stage, image: str) -> None:
    await stage.change(kinds.NODE_SET, "w", {"spec": {"slurmd": {"image": image}}})
    await stage.settle("w")


def test_a_set_goes_back_and_forth_between_revisions() -> None:
    async def story() -> None:
        said: list[str] = []
        async with staged(ROOM) as stage:
            await cluster(stage, replicas=1, revisionHistoryLimit=3, slurmd={"image": "a"})
            await stage.settle("w")
            await changed(stage, "b")
            one = OneNodeSet(stage.kube, Key("hpc", "w"), said.append)

            await one.rollback(None)
            await stage.caught_up()
            await stage.settle("w")
            spec = (await stage.live(kinds.NODE_SET, "w"))["spec"]
            assert spec["slurmd"] == {"image": "a"}
            await one.rollback(3)
            await one.history(NOW)

        assert said[0] == "NodeSet w is as in revision 1; changed: slurmd"
        assert said[1] == "NodeSet w is as revision 3 says already"
        assert [line.split()[0] for line in said[2].splitlines()] == ["REVISION", "3", "2"]

    asyncio.run(story())


def test_a_deleted_set_is_followed_until_it_is_gone() -> None:
    async def story() -> None:
        said: list[str] = []
        async with staged(ROOM) as stage:
            one = OneNodeSet(stage.kube, Key("hpc", "w"), said.append)
            with pytest.raises(NotFound):
                await one.follow(asyncio.sleep)
            await cluster(stage, replicas=1)

            async def remove(_: float) -> None:
                await stage.kube.send(requests.delete(kinds.NODE_SET, Key("hpc", "w")))

            await one.follow(remove)
        assert said == [
            "NodeSet w: waits for the operator to see the change",
            "NodeSet w is gone",
        ]

    asyncio.run(story())
