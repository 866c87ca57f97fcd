"""The jobs that the bridge asks for: what is asked is given, and suffices.

A real slurmctld gives it, and the fake one alike, so that simulations of the bridge mean something.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from tests.contract.slurm_world import NEWEST, World, fake_world, real_world
from windlass.bridge import marker, owner, submission
from windlass.bridge.annotations import Wishes
from windlass.bridge.gang import Gang, GangKey, Level, Member
from windlass.bridge.identity import Identity
from windlass.bridge.placing import Placement, place, places
from windlass.bridge.resources import Needs
from windlass.bridge.submission import Nodes, Settings, digest, updatable, update
from windlass.slurm import requests
from windlass.slurm.errors import Refused, Unauthorized
from windlass.slurm.model import Job
from windlass.slurm.specs import JobSpec
from windlass.testing.slurm import RealSlurm
from windlass.values.gres import Gres
from windlass.values.hostlist import expand
from windlass.values.key import Key
from windlass.values.malformed import Malformed

SETTINGS = Settings(cluster="blue", partition="all")
PLAIN = [f"a-{number}" for number in range(4)]
THREADED = [f"h-{number}" for number in range(4)]
GPUS = ["g-0", "g-1"]
ALL = (*PLAIN, *THREADED, *GPUS)
FILES = ",".join(f"file=gpu-{number}" for number in range(4))
ALIKE = "RealMemory=4000 State=EXTERNAL NodeAddr=127.0.0.1 Sockets=1"
LINES = (
    f"NodeName=a-[0-3] CPUs=4 CoresPerSocket=4 ThreadsPerCore=1 {ALIKE}",
    f"NodeName=h-[0-3] CPUs=8 CoresPerSocket=4 ThreadsPerCore=2 {ALIKE}",
    # One by one: slurmctld 26.05 takes a GresConf for the first node of a range only.
    *(
        f"NodeName={name} CPUs=8 CoresPerSocket=8 ThreadsPerCore=1 {ALIKE}"
        f' Gres="gpu:x:4" GresConf="count=4,name=gpu,type=x,{FILES}"'
        for name in GPUS
    ),
)


@pytest.fixture(scope="module")
def server(slurm_with: Callable[[str], RealSlurm]) -> RealSlurm:
    made = slurm_with("GresTypes=gpu\n")
    with real_world(made, NEWEST) as world:
        for line in LINES:
            world.send(requests.create_nodes(line))
    return made


@pytest.fixture
def real(server: RealSlurm) -> Iterator[World]:
    """Jobs of a test end with it."""
    with real_world(server, NEWEST) as made:
        yield made
        for each in made.send(requests.job_states()):
            if not each.state.ended:
                made.send(requests.cancel(int(each.key)))


@pytest.fixture(params=["fake", "real"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == "real":
        yield request.getfixturevalue("real")
        return
    with fake_world(NEWEST) as made:
        for line in LINES:
            made.send(requests.create_nodes(line))
        yield made


def gang(*needs: Needs, **given: Any) -> Gang:
    members = tuple(Member(rank, each, Key("team", f"p{rank}")) for rank, each in enumerate(needs))
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


def asked(of: Gang, feasible: list[str]) -> JobSpec:
    spec = submission.job(of, SETTINGS, Identity(), Nodes(frozenset(ALL), frozenset(feasible)))
    assert isinstance(spec, JobSpec)
    return spec


def started(world: World, job_id: int) -> Job:
    world.wait(lambda: world.send(requests.job(job_id)).state.running)
    return world.send(requests.job(job_id))


def run(world: World, of: Gang, feasible: list[str]) -> Job:
    return started(world, world.send(requests.submit(asked(of, feasible))).job_id)


def placed(world: World, of: Gang, job: Job) -> Placement:
    threads = dict.fromkeys(THREADED, 2)
    allocations = world.send(requests.resources(job.id))
    given = places(allocations, threads)
    assert tuple(each.node for each in given) == expand(job.nodes)
    return place(of.members, given)


GANGS = [
    (gang(Needs(2, 100)), PLAIN, 1),
    (gang(Needs(1, 100)), ["a-2"], 1),
    (gang(Needs(3, 100)), THREADED, 1),
    (gang(*[Needs(1, 100)] * 6), PLAIN, 2),
    (gang(*[Needs(3, 100)] * 3), PLAIN, 3),
    (gang(*[Needs(1, 1500)] * 3), PLAIN, 2),
    (gang(*[Needs(1, 100)] * 6), THREADED, 1),
    (gang(*[Needs(3, 100)] * 5), THREADED, 3),
    (gang(Needs(1), Needs(1), wishes=Wishes(exclusive=True)), PLAIN, 1),
    (gang(Needs(1, 100), Needs(4, 100)), PLAIN, 2),
    (gang(Needs(2, 100, (Gres("gpu", "", 2),))), GPUS, 1),
    (gang(*[Needs(1, 100, (Gres("gpu", "", 2),))] * 3), GPUS, 2),
    (gang(*[Needs(1, 100, (Gres("gpu", "x", 1),))] * 4), GPUS, 1),
    (gang(*[Needs(1, 100)] * 3, wishes=Wishes(memory=100)), PLAIN, 3),
    (gang(*[Needs(1, 100)] * 3, wishes=Wishes(min_nodes=3)), PLAIN, 3),
    (gang(*[Needs(2, 100)] * 6, least=2), PLAIN, 4),
    (gang(*[Needs(2, 100)] * 3, least=2), PLAIN, 3),
]


@pytest.mark.parametrize(("of", "feasible", "nodes"), GANGS)
def test_what_slurm_gives_has_room_for_all_pods_on_nodes_that_take_them(
    world: World, of: Gang, feasible: list[str], nodes: int
) -> None:
    job = run(world, of, feasible)

    given = expand(job.nodes)
    assert len(given) == nodes
    assert set(given) <= set(feasible)
    found = placed(world, of, job)
    assert len(found.seats) >= of.least
    assert set(found.seats.values()) == set(given)
    ranks = [given.index(found.seats[index]) for index in sorted(found.seats)]
    assert ranks == sorted(ranks)


def test_a_job_is_found_again_by_its_marker(world: World) -> None:
    of = gang(Needs(1, 100), Needs(1, 100))
    job = run(world, of, PLAIN)

    found = marker.ours(job, "blue")
    assert found is not None
    assert found.key == of.key
    assert found.pods == of.pods
    assert marker.ours(job, "green") is None


def test_a_waiting_gang_grows_and_moves_with_an_update(world: World) -> None:
    hog = run(world, gang(*[Needs(4, 4000)] * 4), PLAIN)
    first, grown = gang(*[Needs(2, 100)] * 2), gang(*[Needs(2, 100)] * 5)
    old, spec = asked(first, ["a-3"]), asked(grown, PLAIN)
    assert updatable(digest(old), digest(spec))
    job_id = world.send(requests.submit(old)).job_id

    world.send(requests.update_job(job_id, update(spec)))
    waiting = world.send(requests.job(job_id))
    assert waiting.state.pending
    assert (expand(waiting.required_nodes), waiting.tasks) == (tuple(PLAIN), 5)
    mark = marker.ours(waiting, "blue")
    assert mark is not None
    assert mark.digest == digest(spec)

    world.send(requests.cancel(hog.id))
    found = placed(world, grown, started(world, job_id))
    assert len(found.seats) == 5


def test_lists_of_nodes_are_taken_back_by_an_update(world: World) -> None:
    run(world, gang(*[Needs(4, 4000)] * 4), PLAIN)
    of = gang(Needs(1, 100))
    job_id = world.send(requests.submit(asked(of, ["a-3"]))).job_id

    world.send(requests.update_job(job_id, update(asked(of, list(ALL)))))
    freed = world.send(requests.job(job_id))
    assert (freed.required_nodes, freed.excluded_nodes) == ("", "")
    assert expand(started(world, job_id).nodes)[0] not in PLAIN


@pytest.mark.parametrize(
    ("user", "taken_for"),
    [("00", "root"), ("0x0", "root"), ("1e-3", "root"), ("1e0", "daemon"), ("games", "games")],
)
def test_slurm_takes_what_looks_like_a_number_for_one(
    real: World, user: str, taken_for: str
) -> None:
    """So owner.parse refuses it."""
    assert submitted_as(real, user) == taken_for
    assert is_somebody(user) == (user == taken_for)


@pytest.mark.parametrize("user", ["null", "99", "0x63"])
def test_whom_slurm_takes_for_nobody_has_jobs_of_whoever_submits(real: World, user: str) -> None:
    assert submitted_as(real, user) == "root"
    assert not is_somebody(user)


def test_slurm_has_no_user_nobody(real: World) -> None:
    with pytest.raises(Refused, match="nobody"):
        submitted_as(real, "nobody")
    assert not is_somebody("nobody")


def submitted_as(world: World, user: str) -> str:
    """The user that the job then has."""
    spec = msgspec.structs.replace(asked(gang(Needs(1, 100)), PLAIN), user=user)
    return world.send(requests.job(world.send(requests.submit(spec)).job_id)).user


def is_somebody(user: str) -> bool:
    try:
        return owner.parse(user) == user
    except Malformed:
        return False


def test_nobody_but_an_operator_passes_a_job_off_as_ours(world: World) -> None:
    spec = asked(gang(Needs(1, 100)), PLAIN)
    plain = msgspec.structs.replace(spec, admin_comment=None)

    assert world.send_as(world.plain, requests.submit(plain)).job_id
    with pytest.raises(Unauthorized):
        world.send_as(world.plain, requests.submit(spec))
