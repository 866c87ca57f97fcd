import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.client import Client
from windlass.slurm.errors import Absent, Errno, Refused, SlurmError, Unavailable
from windlass.slurm.model import Node
from windlass.slurm.specs import NodesUpdate, NodeUpdate
from windlass.slurm.tokens import StaticToken
from windlass.slurm.versions import Version
from windlass.slurm.writes import Batch, NodeWriter, already_so, batches
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_slurm import FakeSlurm
from windlass.values.states import NodeState

T = TypeVar("T")
DRAIN = NodeUpdate(state="DRAIN", reason="x")
RESUME = NodeUpdate(state="RESUME")
OTHER = NodeUpdate(comment="other")


@pytest.fixture
def fake() -> FakeSlurm:
    return FakeSlurm(FakeCluster(now=lambda: 1000))


def client(fake: FakeSlurm) -> Client:
    return Client(fake, StaticToken("root"), Version.V45)


def written(
    fake: FakeSlurm, *updates: tuple[str, NodeUpdate], count: int = 8
) -> list[SlurmError | None]:
    """What each caller is told."""

    async def main() -> list[SlurmError | None]:
        slurm = client(fake)
        if not fake.cluster.nodes:
            line = f"NodeName=w-[0-{count - 1}] CPUs=4 State=EXTERNAL"
            await slurm.send(requests.create_nodes(line))
        fake.calls.clear()
        writer = NodeWriter(slurm, tick=0)
        running = asyncio.create_task(writer.run())
        calls: list[Coroutine[Any, Any, None]] = [writer.update(*each) for each in updates]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        running.cancel()
        return [each if isinstance(each, SlurmError) else None for each in answers]

    return asyncio.run(main())


def test_equal_updates_of_many_nodes_are_one_call(fake: FakeSlurm) -> None:
    told = written(fake, *((f"w-{index}", DRAIN) for index in range(8)))

    assert told == [None] * 8
    assert fake.calls == ["POST /nodes/"]
    assert {node.reason for node in fake.cluster.nodes.values()} == {"x"}


@dataclass
class Watched:
    """A client whose bulk calls are seen; it may take hostlists for nonsense."""

    slurm: Client
    plain: bool = False
    named: list[tuple[str, ...]] = field(default_factory=list)

    async def send(self, request: Request[T]) -> T:
        if isinstance(request.body, NodesUpdate):
            self.named.append(request.body.names)
            if self.plain and any("[" in name for name in request.body.names):
                raise Refused("Invalid host string", Errno.ESLURM_DATA_PARSE_BAD_INPUT)
        return await self.slurm.send(request)


def watched(fake: FakeSlurm, names: list[str], *, plain: bool = False) -> list[tuple[str, ...]]:
    """What the bulk calls for these nodes name."""

    async def main() -> list[tuple[str, ...]]:
        slurm = Watched(client(fake), plain)
        for name in names:
            await slurm.send(requests.create_nodes(f"NodeName={name} State=EXTERNAL"))
        writer = NodeWriter(slurm, tick=0)
        running = asyncio.create_task(writer.run())
        await asyncio.gather(*(writer.update(name, DRAIN) for name in names))
        running.cancel()
        return slurm.named

    told = asyncio.run(main())
    assert {node.reason for node in fake.cluster.nodes.values()} == {"x"}
    return told


def test_the_nodes_of_a_call_are_named_by_hostlists(fake: FakeSlurm) -> None:
    names = ["w-10", "gpu-1", "w-2", "w-1", "gpu-2", "w-11", "login"]

    assert watched(fake, names) == [("w-[1-2,10-11],gpu-[1-2],login",)]


def test_names_are_sent_as_they_are_where_a_hostlist_is_refused_as_malformed(
    fake: FakeSlurm,
) -> None:
    names = ["w-1", "w-2", "w-3"]

    assert watched(fake, names, plain=True) == [("w-[1-3]",), ("w-1", "w-2", "w-3")]


def test_a_node_alone_is_named_as_it_is(fake: FakeSlurm) -> None:
    assert watched(fake, ["w-1"]) == [("w-1",)]


def test_a_name_that_no_hostlist_can_have_spoils_no_call(fake: FakeSlurm) -> None:
    told = written(fake, ("w-0", DRAIN), ("w[", DRAIN), ("w-1", DRAIN))

    assert [type(each) for each in told] == [type(None), Absent, type(None)]


def test_the_one_that_slurm_does_not_know_is_told_so_and_the_others_are_done(
    fake: FakeSlurm,
) -> None:
    names = ["w-0", "w-1", "absent", "w-2", "w-3"]
    told = written(fake, *((name, DRAIN) for name in names))

    assert [type(each) for each in told] == [type(None)] * 2 + [Absent] + [type(None)] * 2
    assert fake.cluster.nodes["w-3"].reason == "x"


def test_a_resume_that_was_carried_out_within_a_refused_call_is_a_success(fake: FakeSlurm) -> None:
    written(fake, ("w-0", DRAIN), ("w-1", DRAIN))
    told = written(fake, *((f"w-{index}", RESUME) for index in range(4)))

    assert told == [None] * 4


def test_what_nobody_can_do_is_refused_to_each(fake: FakeSlurm) -> None:
    told = written(fake, ("w-0", NodeUpdate(state="NONSENSE")), ("w-1", DRAIN))

    assert [type(each) for each in told] == [Refused, type(None)]


def test_what_is_refused_of_every_node_is_asked_of_them_once(fake: FakeSlurm) -> None:
    told = written(fake, *((f"w-{index}", NodeUpdate(topology="absent:b")) for index in range(8)))

    assert {type(each) for each in told} == {Refused}
    assert fake.calls == ["POST /nodes/"]


def test_without_an_answer_every_caller_is_told_after_one_call(fake: FakeSlurm) -> None:
    written(fake, ("w-0", DRAIN))
    fake.down = True
    told = written(fake, *((f"w-{index}", OTHER) for index in range(8)))

    assert {type(each) for each in told} == {Unavailable}
    assert len(fake.calls) == 1


def test_two_updates_of_one_node_keep_their_order(fake: FakeSlurm) -> None:
    written(fake, ("w-0", DRAIN), ("w-1", DRAIN), ("w-0", RESUME))

    assert "DRAIN" not in (fake.cluster.nodes["w-0"].state or ())
    assert "DRAIN" in (fake.cluster.nodes["w-1"].state or ())


def test_a_caller_that_gives_up_does_not_disturb_the_others(fake: FakeSlurm) -> None:
    async def main() -> None:
        slurm = client(fake)
        await slurm.send(requests.create_nodes("NodeName=w-[0-1] State=EXTERNAL"))
        writer = NodeWriter(slurm, tick=0)
        running = asyncio.create_task(writer.run())
        impatient = asyncio.create_task(writer.update("w-0", OTHER))
        patient = asyncio.create_task(writer.update("w-0", OTHER))
        await asyncio.sleep(0)
        impatient.cancel()
        await patient
        running.cancel()

    asyncio.run(main())
    assert fake.cluster.nodes["w-0"].comment == "other"


@pytest.mark.parametrize(
    ("words", "update", "so"),
    [
        ("IDLE+DRAIN", NodeUpdate(state="DRAIN"), True),
        ("IDLE", NodeUpdate(state="DRAIN"), False),
        ("IDLE", RESUME, True),
        ("DOWN", RESUME, False),
        ("DOWN", NodeUpdate(state="DOWN"), True),
        ("IDLE+DRAIN", NodeUpdate(state="UNDRAIN"), False),
        ("IDLE", NodeUpdate(comment="kept"), True),
        ("IDLE", NodeUpdate(comment="else"), False),
        ("IDLE", NodeUpdate(state="POWER_DOWN"), False),
    ],
)
def test_a_node_is_already_so(words: str, update: NodeUpdate, so: bool) -> None:
    node = Node("w-0", NodeState.parse(words), comment="kept")

    assert already_so(node, update) == so


UPDATES = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([DRAIN, RESUME, OTHER])))


@given(UPDATES)
def test_batches_keep_every_update_and_the_order_of_each_node(
    wanted: list[tuple[str, NodeUpdate]],
) -> None:
    made, places = batches(wanted)

    for name in "abcd":
        sent = [batch.update for batch in made if name in batch.names]
        own = (update for each, update in wanted if each == name)
        assert sent == [update for update, _ in groupby(own)]
    for (name, update), place in zip(wanted, places, strict=True):
        assert made[place].update == update
        assert name in made[place].names


def test_batches_group_what_can_go_together() -> None:
    wanted = [("a", DRAIN), ("b", OTHER), ("c", DRAIN), ("a", OTHER)]

    made, _ = batches(wanted)
    assert made == [Batch(DRAIN, ("a", "c")), Batch(OTHER, ("b", "a"))]
