"""A partition that is no longer wanted stays while jobs name it."""

from typing import Any

import pytest

from tests.unit.operator.slurmctld.given import controller, node_set
from windlass.api.node_set import NodeSet
from windlass.operator.slurmctld.past_partitions import Past
from windlass.operator.slurmctld.slurm_conf import Cluster, SlurmConf, slurm_conf

ENABLED = {"enabled": True, "config": "MaxTime=60 State=UP"}
KEPT = "PartitionName=w Nodes=w MaxTime=60 State=INACTIVE\n"


def rendered(*node_sets: NodeSet, extra: str = "", past: Past | None = None) -> SlurmConf:
    one = controller(extraConf=extra)
    return slurm_conf(Cluster(controller=one, node_sets=node_sets, past=past or Past()))


BEFORE = rendered(node_set("w", partition=ENABLED), extra="PartitionName=mine Nodes=ALL").text


@pytest.mark.parametrize(
    ("named", "stays"),
    [
        (frozenset({"w"}), True),
        (None, True),
        (frozenset({"mine", "other"}), False),
        (frozenset(), False),
    ],
    ids=["jobs name it", "Slurm is silent", "jobs name others", "no jobs"],
)
@pytest.mark.parametrize(
    "now",
    [
        (node_set("w"),),
        (node_set("w", template={"spec": {"hostname": "new"}}, partition=ENABLED),),
        (),
    ],
    ids=["disabled", "renamed", "gone"],
)
def test_it_stays_as_long_as_jobs_may_name_it(
    now: tuple[NodeSet, ...], named: frozenset[str] | None, stays: bool
) -> None:
    conf = rendered(*now, past=Past(BEFORE, named))
    assert (KEPT in conf.text) == stays
    assert [note.code for note in conf.notes] == (["PartitionKept"] if stays else [])
    if stays:
        assert conf.text.count("NodeSet=w Feature=w\n") == 1


def test_what_is_kept_is_kept_again_and_then_goes() -> None:
    once = rendered(past=Past(BEFORE, frozenset({"w"})))
    twice = rendered(past=Past(once.text, frozenset({"w"})))
    assert twice.text == once.text
    assert "PartitionName=w" not in rendered(past=Past(twice.text, frozenset())).text


@pytest.mark.parametrize(
    ("node_sets", "extra"),
    [
        ((node_set("w", partition=ENABLED),), ""),
        ((), "NodeSet=w Feature=w\nPartitionName=w Nodes=w"),
    ],
)
def test_what_is_there_anyway_is_not_written_twice(node_sets: Any, extra: str) -> None:
    past = Past(BEFORE, frozenset({"w"}))
    conf = rendered(*node_sets, extra=extra, past=past)
    assert conf.text == rendered(*node_sets, extra=extra).text
    assert conf.text.count("PartitionName=w") == 1


def test_partitions_of_the_users_own_lines_are_his() -> None:
    assert "mine" not in rendered(past=Past(BEFORE, frozenset({"mine"}))).text
