"""The reservation of a ScheduledUpdate in Slurm: made, kept, changed, in force, taken away."""

import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import msgspec
import pytest

from tests.contract.slurm_world import NEWEST, World, fake_world, real_world
from tests.unit.operator.workers.observed import node_set, pod
from tests.unit.operator.workers.phases.courses import course
from windlass.api.node_set import NodeSet
from windlass.operator.plan import Reserve, Unreserve
from windlass.operator.slurm_writes import SlurmWrites
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.phases.reserve import reserve
from windlass.operator.workers.phases.scheduled import scheduled
from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.errors import Absent, Refused
from windlass.slurm.model import Reservation
from windlass.slurm.specs import ReservationSpec
from windlass.values.hostlist import expand
from windlass.values.key import Key

R = TypeVar("R")
NAME = "SlurmOperatorMaint-w"
LATER = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)


class Slurms:
    """The executor's Slurms: this one, whichever is meant."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def send(self, at: Key, request: Request[R]) -> R:
        return await self.world.client.send(request)

    async def fresh(self, at: Key) -> Seen | None:
        return None


@pytest.fixture(params=["fake", "real"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == "fake":
        with fake_world(NEWEST) as made:
            yield made
    else:
        with real_world(request.getfixturevalue("slurm"), NEWEST) as made:
            yield made
            with suppress(Absent):
                made.send(requests.delete_reservation(NAME))


def wants(*flags: str, begin: datetime = LATER) -> NodeSet:
    given = {"startTime": begin, "duration": "30m", "flags": list(flags)}
    return node_set(updateStrategy={"type": "ScheduledUpdate", "scheduledUpdate": given})


def remembering(of: NodeSet, outcome: Outcome) -> NodeSet:
    """The set with the condition that a pass left."""
    (verdict,) = outcome.verdicts
    condition = {
        "type": verdict.type,
        "status": str(verdict.status),
        "reason": verdict.reason.code,
        "message": verdict.reason.sentence,
        "lastTransitionTime": "2026-07-01T00:00:00Z",
    }
    return msgspec.convert(
        {**msgspec.to_builtins(of), "status": {"conditions": [condition]}}, NodeSet
    )


def given(world: World, of: NodeSet, names: list[str]) -> Pass:
    nodes, reservations = world.send(requests.nodes()), world.send(requests.reservations())
    assert nodes is not None
    assert reservations is not None
    seen = Seen(
        {each.name: each for each in nodes.items},
        {},
        {each.name: each for each in reservations.items},
    )
    pods = []
    for number, name in enumerate(names):
        body = msgspec.to_builtins(pod(number, of, revision="old"))
        body["spec"]["hostname"] = name
        pods.append(msgspec.convert(body, type(pod(0))))
    return course(of, pods=tuple(pods), slurm=seen, now=datetime.now(UTC))


def act(world: World, of: NodeSet, names: list[str]) -> tuple[NodeSet, list[str]]:
    """One pass, carried out: what the set remembers then, and what was done."""
    outcome = reserve(given(world, of, names))
    done = []
    for action in outcome.actions:
        assert isinstance(action, Reserve | Unreserve)
        done.append(type(action).__name__)
        world.runner.run(SlurmWrites(Slurms(world)).do(Key("hpc", "slurm"), action))
    return remembering(of, outcome) if outcome.verdicts else of, done


def held(world: World) -> Reservation:
    return world.send(requests.reservation(NAME))


def test_it_is_made_once_and_then_left_alone(world: World) -> None:
    names = world.nodes(3)
    of, first = act(world, wants("daily"), names)
    of, second = act(world, of, names)
    _, third = act(world, of, names)

    assert (first, second, third) == (["Reserve"], [], [])
    found = held(world)
    assert sorted(expand(found.nodes)) == names
    assert (found.starts_at, found.users) == (int(LATER.timestamp()), "slurm")
    assert found.flags >= {"MAINT", "IGNORE_JOBS", "DAILY"}


def test_its_nodes_follow_the_workers(world: World) -> None:
    names = world.nodes(3)
    of, _ = act(world, wants(), names[:2])
    of, changed = act(world, of, names[1:])
    _, again = act(world, of, names[1:])

    assert (changed, again) == (["Reserve"], [])
    assert sorted(expand(held(world).nodes)) == names[1:]


@pytest.mark.parametrize(
    "changed",
    [
        wants(begin=LATER + timedelta(hours=2)),
        wants("WEEKLY"),
        wants("DAILY", "FLEX"),
        wants(),
    ],
)
def test_a_changed_schedule_makes_it_anew(world: World, changed: NodeSet) -> None:
    names = world.nodes(2)
    of, _ = act(world, wants("DAILY"), names)
    of, _ = act(world, of, names)
    meant = msgspec.structs.replace(changed, status=of.status)
    of, remade = act(world, meant, names)
    of, again = act(world, of, names)

    assert (remade, again) == (["Unreserve", "Reserve"], [])


@pytest.mark.parametrize("world", ["real"], indirect=True)
def test_slurm_would_not_change_how_often_it_comes(world: World) -> None:
    """Which is why it is made anew."""
    act(world, wants("DAILY"), world.nodes(1))
    with pytest.raises(Refused):
        change(world, flags=("MAINT", "IGNORE_JOBS", "WEEKLY"))
    change(world, flags=("MAINT", "IGNORE_JOBS"))

    assert "DAILY" in held(world).flags


def change(world: World, **fields: Any) -> None:
    world.send(requests.write_reservation(ReservationSpec(name=NAME, **fields)))


def test_without_the_strategy_it_goes(world: World) -> None:
    names = world.nodes(1)
    of, _ = act(world, wants(), names)
    of, _ = act(world, of, names)
    _, done = act(world, msgspec.structs.replace(node_set(), status=of.status), names)

    assert done == ["Unreserve"]
    with pytest.raises(Absent):
        held(world)


def test_what_was_removed_by_hand_stays_away(world: World) -> None:
    names = world.nodes(1)
    of, _ = act(world, wants(), names)
    of, _ = act(world, of, names)
    world.send(requests.delete_reservation(NAME))
    of, done = act(world, of, names)
    _, again = act(world, of, names)

    assert (done, again) == ([], [])


@pytest.mark.parametrize("world", ["real"], indirect=True)
def test_in_force_it_sets_workers_free_and_its_nodes_can_still_change(world: World) -> None:
    names = world.nodes(3)
    of, _ = act(world, wants(begin=datetime.now(UTC) + timedelta(seconds=3)), names[:2])

    def leaving() -> list[Any]:
        return sorted(scheduled(given(world, of, names)).leave)

    assert leaving() == []
    world.wait(lambda: leaving() == ["w-0", "w-1"])
    with pytest.raises(Refused):
        change(world, starts_at=int(time.time()) + 60)
    of, changed = act(world, of, names)
    _, again = act(world, of, names)
    assert (changed, again) == (["Reserve"], [])
    world.wait(lambda: leaving() == ["w-0", "w-1", "w-2"])
    assert time.time() < (held(world).ends_at or 0)
