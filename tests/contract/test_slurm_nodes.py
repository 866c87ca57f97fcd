"""What becomes of a Slurm node's reason, features and record, alike on the fake and the real one.

The operator's drains, resumes and removals rest on these answers.
"""

from collections.abc import Iterator

import pytest

from tests.contract.slurm_world import NEWEST, World, fake_world, real_world
from windlass.operator.slurm_writes import IN_A_URL, hostlists
from windlass.slurm import requests
from windlass.slurm.errors import Absent, Busy, Refused
from windlass.slurm.model import Node
from windlass.slurm.specs import NodeUpdate
from windlass.values.hostlist import fold


@pytest.fixture(params=["fake", "real"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == "fake":
        with fake_world(NEWEST) as made:
            yield made
    else:
        with real_world(request.getfixturevalue("slurm"), NEWEST) as made:
            yield made


def node(world: World, name: str) -> Node:
    return world.send(requests.node(name))


def changed(world: World, name: str, **fields: object) -> Node:
    world.send(requests.update_node(name, NodeUpdate(**fields)))  # type: ignore[arg-type]
    return node(world, name)


def left(world: World, names: list[str]) -> list[str]:
    listing = world.send(requests.nodes())
    assert listing is not None
    return [each.name for each in listing.items if each.name in names]


# --- Drains --------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["UNDRAIN", "RESUME"])
def test_a_drain_that_ends_takes_its_reason_along(world: World, state: str) -> None:
    (name,) = world.nodes(1)
    changed(world, name, state="DRAIN", reason="slurm-operator: x")

    seen = changed(world, name, state=state)
    assert (seen.state.drain, seen.reason, seen.reason_by) == (False, "", "")


def test_a_drain_over_a_drain_has_the_later_reason_and_without_one_keeps_the_first(
    world: World,
) -> None:
    (name,) = world.nodes(1)
    changed(world, name, state="DRAIN", reason="one")

    assert changed(world, name, state="DRAIN", reason="two").reason == "two"
    assert changed(world, name, state="DRAIN").reason == "two"


def test_a_drain_of_a_node_that_is_down_replaces_its_reason_and_it_stays_down(world: World) -> None:
    (name,) = world.nodes(1)
    changed(world, name, state="DOWN", reason="broken")

    seen = changed(world, name, state="DRAIN", reason="drained")
    assert (seen.state.down, seen.state.drain, seen.reason) == (True, True, "drained")


def test_an_undrain_of_a_node_that_is_down_leaves_it_down_with_the_reason_of_its_drain(
    world: World,
) -> None:
    (name,) = world.nodes(1)
    changed(world, name, state="DOWN", reason="broken")
    changed(world, name, state="DRAIN", reason="drained")

    seen = changed(world, name, state="UNDRAIN")
    assert (seen.state.down, seen.state.drain, seen.reason) == (True, False, "drained")


def test_a_resume_of_a_node_that_is_down_and_drained_leaves_nothing_of_either(world: World) -> None:
    (name,) = world.nodes(1)
    changed(world, name, state="DOWN", reason="broken")
    changed(world, name, state="DRAIN", reason="drained")

    seen = changed(world, name, state="RESUME")
    assert (seen.state.down, seen.state.drain, seen.reason) == (False, False, "")


def test_an_undrain_of_nodes_that_are_not_drained_does_no_harm(world: World) -> None:
    drained, idle = world.nodes(2)
    changed(world, drained, state="DRAIN", reason="x")
    world.send(requests.update_nodes([drained, idle], NodeUpdate(state="UNDRAIN")))

    seen = [node(world, name) for name in (drained, idle)]
    assert [(each.state.base, each.state.drain, each.reason) for each in seen] == [
        ("IDLE", False, "")
    ] * 2


def test_a_reason_without_a_state_is_not_taken_by_a_node_that_is_well(world: World) -> None:
    (name,) = world.nodes(1)

    assert changed(world, name, reason="by the way").reason == ""


# --- Features ------------------------------------------------------------------------------


def test_available_and_active_features_change_together(world: World) -> None:
    (name,) = world.nodes(1)
    changed(world, name, features=("w", "k8s/a"), active_features=("w", "k8s/a"))

    seen = changed(world, name, features=("w", "k8s/b"), active_features=("w", "k8s/b"))
    assert (seen.features, seen.active_features) == (("w", "k8s/b"), ("w", "k8s/b"))


def test_features_that_become_available_are_active_unless_it_is_said_which(world: World) -> None:
    (name,) = world.nodes(1)
    changed(world, name, features=("w",), active_features=("w",))

    seen = changed(world, name, features=("w", "k8s/a"))
    assert (seen.features, seen.active_features) == (("w", "k8s/a"), ("w", "k8s/a"))


def test_an_active_feature_is_not_taken_from_those_that_are_available(world: World) -> None:
    (name,) = world.nodes(1)
    changed(world, name, features=("w", "k8s/a"), active_features=("w", "k8s/a"))
    with pytest.raises(Refused):
        changed(world, name, features=("w",))

    assert node(world, name).features == ("w", "k8s/a")


def test_the_last_feature_goes_by_an_empty_name_and_not_by_an_empty_list(world: World) -> None:
    (name,) = world.nodes(1)
    changed(world, name, features=("w",), active_features=("w",))

    kept = changed(world, name, features=(), active_features=())
    gone = changed(world, name, features=("",), active_features=("",))
    assert (kept.features, kept.active_features) == (("w",), ("w",))
    assert (gone.features, gone.active_features) == ((), ())


# --- Removal -------------------------------------------------------------------------------


def test_many_nodes_are_deleted_by_one_hostlist(world: World) -> None:
    names = world.nodes(12)
    world.send(requests.delete_node(fold([*names[:3], names[10]])))

    assert sorted(left(world, names)) == sorted([*names[3:10], names[11]])


def test_as_many_as_the_operator_names_in_one_call_are_deleted(world: World) -> None:
    names = world.nodes(2 * IN_A_URL)
    (scattered,) = hostlists(names[1::2])
    world.send(requests.delete_node(scattered))

    assert sorted(left(world, names)) == sorted(names[::2])


@pytest.mark.parametrize("busy", [0, 1, 2])
def test_one_busy_node_refuses_the_call_and_the_others_are_deleted_all_the_same(
    world: World, busy: int
) -> None:
    names = world.nodes(3)
    job_id = world.running_job([names[busy]])
    with pytest.raises(Busy):
        world.send(requests.delete_node(fold(names)))

    remains = left(world, names)
    world.send(requests.cancel(job_id))
    assert remains == [names[busy]]


def test_one_unknown_name_refuses_the_call_and_the_others_are_deleted_all_the_same(
    world: World,
) -> None:
    names = world.nodes(3)
    world.send(requests.delete_node(names[1]))
    with pytest.raises(Absent):
        world.send(requests.delete_node(fold(names)))

    assert left(world, names) == []
