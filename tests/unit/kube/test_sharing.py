"""Objects that share their parts: equal to what was read, and no part twice."""

import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.kube import sharing
from windlass.kube.meta import Condition
from windlass.kube.objects import Container, Node, Pod, SchedulingGate
from windlass.kube.sharing import Pool

LONG = "a-name-longer-than-what-a-decoder-remembers-by-itself"


def read_pod(number: int, **changed: Any) -> Pod:
    """As the wire brings it: nothing of it is shared."""
    metadata = {
        "name": f"w-{number}",
        "namespace": "slurm",
        "uid": f"u-{number}",
        "labels": {"pod-name": f"w-{number}", LONG: "the same value"},
        "annotations": {LONG: "the same value"},
        "ownerReferences": [{"kind": "NodeSet", "name": "w", "uid": "u-w", "controller": True}],
    }
    pinned = {"nodeSelectorTerms": [{"values": [f"n-{number}"]}]}
    spec = {
        "nodeName": f"n-{number}",
        "hostname": f"w-{number}",
        "containers": [{"name": "slurmd", "resources": {"limits": {"cpu": "4"}}}],
        "initContainers": [{"name": "logfile"}],
        "tolerations": [{"operator": "Exists"}],
        "volumes": [{"name": "etc"}],
        "affinity": {"nodeAffinity": pinned, "podAntiAffinity": {"topologyKey": "hostname"}},
    }
    moment = "2026-07-01T11:00:00Z"
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": moment}],
        "containerStatuses": [{"name": "slurmd", "ready": True}],
    }
    whole = {"metadata": metadata, "spec": {**spec, **changed}, "status": status}
    return msgspec.json.decode(msgspec.json.encode(whole), type=Pod)


def read_node(number: int) -> Node:
    labels = {"kubernetes.io/hostname": f"n-{number}", LONG: "the same value"}
    room = {"cpu": "64", "memory": "512Gi"}
    moment = f"2026-07-01T11:{number:02}:00Z"
    ready = {"type": "Ready", "status": "True", "reason": LONG, "lastTransitionTime": moment}
    whole = {
        "metadata": {"name": f"n-{number}", "labels": labels},
        "spec": {"taints": [{"key": LONG, "effect": "NoSchedule"}]},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }
    return msgspec.json.decode(msgspec.json.encode(whole), type=Node)


@pytest.mark.parametrize(
    "bare",
    [
        Pod(metadata=read_pod(0).metadata),
        msgspec.convert({"metadata": {"labels": None}, "spec": {"containers": None}}, Pod),
        msgspec.convert({"metadata": {"labels": {}}, "status": {"conditions": []}}, Pod),
    ],
)
def test_a_pod_with_little_in_it_stays_as_it_is(bare: Pod) -> None:
    assert sharing.pods()(bare) == bare


def test_pods_are_equal_to_those_that_were_read() -> None:
    shared = sharing.pods()
    for number in range(3):
        assert shared(read_pod(number)) == read_pod(number)


@pytest.mark.parametrize("part", ["containers", "init_containers", "tolerations", "volumes"])
def test_pods_of_one_set_have_one_copy_of(part: str) -> None:
    shared = sharing.pods()
    first, second = shared(read_pod(1)), shared(read_pod(2))
    assert getattr(first.spec, part) is getattr(second.spec, part)


def test_what_is_not_equal_is_not_shared() -> None:
    shared = sharing.pods()
    shared(read_pod(1))
    other = read_pod(2, containers=[{"name": "slurmd", "resources": {"limits": {"cpu": "8"}}}])
    assert shared(other) == other


def test_pods_share_their_owner_their_notes_their_words_and_what_they_went_through() -> None:
    shared = sharing.pods()
    first, second = shared(read_pod(1)), shared(read_pod(2))
    assert first.metadata.owner_references is second.metadata.owner_references
    assert first.metadata.annotations is second.metadata.annotations
    assert first.status.container_statuses is second.status.container_statuses
    assert first.status.conditions
    assert second.status.conditions
    assert first.status.conditions[0] is second.status.conditions[0]
    assert first.metadata.labels
    assert second.metadata.labels
    for one, other in zip(first.metadata.labels, second.metadata.labels, strict=True):
        assert one is other
    assert first.metadata.labels[LONG] is second.metadata.labels[LONG]


def test_the_name_of_a_pod_is_one_text_wherever_it_stands() -> None:
    pod = sharing.pods()(read_pod(1))
    assert pod.metadata.labels is not None
    assert pod.metadata.name is pod.spec.hostname is pod.metadata.labels["pod-name"]


def test_pods_that_are_pinned_to_nodes_share_the_rest_of_their_affinity() -> None:
    shared = sharing.pods()
    first, second = shared(read_pod(1)).spec.affinity, shared(read_pod(2)).spec.affinity
    assert first
    assert second
    assert first["podAntiAffinity"] is second["podAntiAffinity"]
    assert first["nodeAffinity"] != second["nodeAffinity"]


def test_nodes_are_equal_to_those_that_were_read_and_share_what_they_offer() -> None:
    shared = sharing.nodes()
    first, second = shared(read_node(1)), shared(read_node(2))
    assert (first, second) == (read_node(1), read_node(2))
    assert first.status.capacity is second.status.allocatable
    assert first.spec.taints is second.spec.taints
    assert first.status.conditions
    assert second.status.conditions
    assert first.status.conditions[0].reason is second.status.conditions[0].reason


def test_a_thousand_pods_of_a_set_take_less_than_half_of_the_memory() -> None:
    shared = sharing.pods()
    read = [read_pod(number) for number in range(1000)]
    assert _size([shared(each) for each in read]) < _size(read) / 2


def test_a_pool_forgets_rather_than_grow() -> None:
    pool: Pool[list[int]] = Pool(most=2)
    first = pool([1])
    assert pool([1]) is first
    pool([2]), pool([3])
    assert pool([1]) == first
    assert pool([1]) is not first
    assert len(pool._known) <= 2


def test_parts_of_different_types_do_not_meet() -> None:
    """They may look alike on the wire."""
    pod = read_pod(1, containers=[{"name": "a"}], initContainers=[], volumes=[{"name": "a"}])
    gated = msgspec.structs.replace(pod.spec, scheduling_gates=[SchedulingGate(name="a")])
    shared = sharing.pods()(msgspec.structs.replace(pod, spec=gated))
    assert shared.spec.containers == [Container(name="a")]
    assert shared.spec.volumes == pod.spec.volumes
    assert shared.spec.scheduling_gates == [SchedulingGate(name="a")]


@given(st.lists(st.builds(Condition, type=st.text(), status=st.text(), message=st.text())))
def test_conditions_stay_what_they_are(conditions: list[Condition]) -> None:
    node = read_node(1)
    status = msgspec.structs.replace(node.status, conditions=conditions)
    given_ = msgspec.structs.replace(node, status=status)
    assert sharing.nodes()(given_) == given_


def _size(thing: Any, seen: set[int] | None = None) -> int:
    """Of all that it refers to, each once."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    return sys.getsizeof(thing) + sum(_size(part, seen) for part in _parts(thing))


def _parts(thing: Any) -> list[Any]:
    match thing:
        case dict():
            return [*thing.keys(), *thing.values()]
        case list():
            return thing
        case msgspec.Struct():
            return [getattr(thing, name) for name in thing.__struct_fields__]
        case _:
            return []
