from typing import Any

import pytest

from tests.unit.operator.workers.observed import node_set, pod
from tests.unit.operator.workers.phases.courses import course, host, hosts, steps
from windlass.api import labels
from windlass.operator.plan import ChangeNodes, Mark
from windlass.operator.site import Site
from windlass.operator.workers.course import Outcome
from windlass.operator.workers.phases.topology import topology
from windlass.slurm.model import Node

SET = node_set(replicas=4)


def at(place: str) -> dict[str, Any]:
    return {"annotations": {labels.TOPOLOGY: place}}


def marked(found: Outcome) -> list[tuple[str, str | None]]:
    return [
        (s.key.name, s.annotations[labels.TOPOLOGY]) for s in steps(found) if isinstance(s, Mark)
    ]


def moved(found: Outcome) -> list[tuple[tuple[str, ...], str | None]]:
    return [(s.names, s.update.topology) for s in steps(found) if isinstance(s, ChangeNodes)]


CASES: list[tuple[str, dict[str, Any], dict[str, Any], str, str | None, str | None]] = [
    ("new", at("t:b1"), {}, "", "t:b1", "t:b1"),
    ("told as it was bound", at("t:b1"), at("t:b1"), "t:b1", None, None),
    ("came back elsewhere", at("t:b2"), at("t:b2"), "t:b1", None, "t:b2"),
    ("the host was moved", at("t:b2"), at("t:b1"), "t:b1", "t:b2", "t:b2"),
    ("the host is nowhere now", at(""), at("t:b1"), "t:b1", "", ""),
    ("the host says nothing", {}, at("t:b1"), "t:b1", None, None),
    ("the host never said anything", {}, {}, "", None, None),
]


@pytest.mark.parametrize(
    ("there", "worker", "known", "mark", "move"),
    [each[1:] for each in CASES],
    ids=[each[0] for each in CASES],
)
def test_a_worker_is_where_its_host_is(
    there: dict[str, Any], worker: dict[str, Any], known: str, mark: str | None, move: str | None
) -> None:
    found = topology(
        course(
            SET,
            pods=(pod(0, **worker),),
            hosts=hosts(host("n0", **there)),
            slurm={"w-0": Node(name="w-0", topology=known)},
        )
    )

    assert marked(found) == ([] if mark is None else [("w-0", mark)])
    assert moved(found) == ([] if move is None else [(("w-0",), move)])


def test_those_of_one_place_are_moved_by_one_call() -> None:
    pods = tuple(pod(number, **at("x")) for number in range(4))
    there = hosts(*(host(f"n{number}", **at(f"t:b{number % 2}")) for number in range(4)))
    known = {f"w-{number}": Node(name=f"w-{number}") for number in range(4)}

    assert moved(topology(course(SET, pods=pods, hosts=there, slurm=known))) == [
        (("w-0", "w-2"), "t:b0"),
        (("w-1", "w-3"), "t:b1"),
    ]


def test_labels_tell_it_by_the_pattern_of_the_site() -> None:
    site = Site(topology_from_labels="t:{rack}")
    there = hosts(host("n0", labels={"rack": "r7"}), host("n1"))
    known = {f"w-{number}": Node(name=f"w-{number}") for number in range(2)}
    found = topology(course(SET, pods=(pod(0), pod(1)), hosts=there, slurm=known, site=site))

    assert (marked(found), moved(found)) == ([("w-0", "t:r7")], [(("w-0",), "t:r7")])


def test_a_silent_slurm_keeps_no_pod_from_knowing_its_place() -> None:
    found = topology(course(SET, pods=(pod(0),), hosts=hosts(host("n0", **at("t:b1"))), slurm=None))

    assert (marked(found), moved(found)) == ([("w-0", "t:b1")], [])


def test_a_worker_whose_place_slurm_refused_is_told_of() -> None:
    refused = Node(name="w-0", reason="Failed to set topology 'x:b1'")
    found = topology(course(SET, pods=(pod(0),), slurm={"w-0": refused}))

    assert [each.code for each in found.faults] == ["TopologyRefused"]
    assert "'x:b1'" in found.faults[0].sentence
