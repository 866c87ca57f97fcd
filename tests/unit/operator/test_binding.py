"""What a worker pod is told of its node as it is bound."""

import asyncio
from typing import Any

import pytest

from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.kube.admission import Allowed, Decision, Denied, Review
from windlass.kube.errors import NotFound
from windlass.kube.wire import Anything
from windlass.mains import windlass
from windlass.operator.binding import handler
from windlass.testing.fake_kube import FakeKube

WORKER = {labels.NAME: "slurmd"}
POD = {"containers": [{"name": "c", "image": "i"}]}


def review(target: dict[str, str], **metadata: Any) -> Review:
    new = {"metadata": {"name": "w-0", "namespace": "slurm", **metadata}, "target": target}
    return Review(
        uid="u",
        operation="CREATE",
        group="",
        version="v1",
        kind="Binding",
        name="w-0",
        namespace="slurm",
        subresource="binding",
        user="scheduler",
        groups=(),
        dry_run=False,
        new=new,
        old=None,
    )


def decide(
    asked: Review, pod: dict[str, Any], node: dict[str, str] | None = None, **named: str
) -> Decision:
    async def main() -> Decision:
        kube = FakeKube(windlass.now)
        namespace = {"metadata": {"name": "slurm"}}
        await kube.send(requests.create(kinds.NAMESPACE, "", namespace, Anything))
        body = {"metadata": {"name": "w-0", **pod}, "spec": POD}
        await kube.send(requests.create(kinds.POD, "slurm", body, Anything))
        if node is not None:
            machine = {"metadata": {"name": "n1", "annotations": node, "labels": named}}
            await kube.send(requests.create(kinds.NODE, "", machine, Anything))
        said = handler(kube, "racks:{rack}")(asked)
        assert not isinstance(said, Allowed | Denied)
        return await said

    return asyncio.run(main())


TO_NODE = {"kind": "Node", "name": "n1"}
RACK = {labels.TOPOLOGY: "topo-block:rack1"}


def test_a_worker_gets_the_topology_of_its_node() -> None:
    decided = decide(review(TO_NODE), {"labels": WORKER}, RACK)
    assert isinstance(decided, Allowed)
    assert decided.patch == ({"op": "add", "path": "/metadata/annotations", "value": RACK},)


def test_the_labels_of_a_node_tell_it_where_the_annotation_does_not() -> None:
    decided = decide(review(TO_NODE), {"labels": WORKER}, {}, rack="r7")
    assert isinstance(decided, Allowed)
    assert [each.get("value") for each in decided.patch] == [{labels.TOPOLOGY: "racks:r7"}]


def test_other_annotations_of_the_binding_stay() -> None:
    decided = decide(review(TO_NODE, annotations={"a": "b"}), {"labels": WORKER}, RACK)
    assert isinstance(decided, Allowed)
    (patch,) = decided.patch
    assert (patch["op"], patch.get("value")) == ("add", "topo-block:rack1")


def test_a_node_without_topology_clears_an_old_one() -> None:
    decided = decide(review(TO_NODE), {"labels": WORKER, "annotations": RACK}, {})
    assert isinstance(decided, Allowed)
    (patch,) = decided.patch
    assert patch.get("value") == {labels.TOPOLOGY: ""}


@pytest.mark.parametrize(
    ("pod", "target"),
    [
        ({"labels": {labels.NAME: "other"}}, TO_NODE),
        ({}, TO_NODE),
        ({"labels": WORKER, "annotations": RACK}, TO_NODE),
        ({"labels": WORKER}, {"kind": "Elsewhere", "name": "n1"}),
        ({"labels": WORKER}, {}),
    ],
)
def test_nothing_changes(pod: dict[str, Any], target: dict[str, str]) -> None:
    assert decide(review(target), pod, RACK) == Allowed()


def test_a_node_that_is_not_there_is_left_to_the_failure_policy() -> None:
    with pytest.raises(NotFound):
        decide(review(TO_NODE), {"labels": WORKER})
