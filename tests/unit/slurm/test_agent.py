import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import json

from windlass.slurm.agent import AT_ONCE, Agent, Ending
from windlass.slurm.call import Response
from windlass.slurm.errors import Absent, Refused, SlurmError, Unauthorized, Unavailable
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Message

WELL = Ending()


@dataclass
class Wire:
    """Answers what it is given, once `go` is set; never the call of number `stuck`."""

    answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    whole: Response | None = None
    stuck: int = 0
    sent: list[Message] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def round_trip(self, message: Message) -> Response:
        self.sent.append(message)
        await self.go.wait()
        if len(self.sent) == self.stuck:
            await asyncio.Event().wait()
        if self.whole is not None:
            return self.whole
        ends = [{"job": job, **self.answers.get(job, {})} for job in self.jobs[-1]]
        return Response(200, is_json=True, body=json.encode({"ends": ends}))

    async def close(self) -> None:
        """There is nothing to close."""

    @property
    def jobs(self) -> list[list[int]]:
        """Of each call."""
        every = (json.decode(each.body)["ends"] for each in self.sent)
        return [[each["job"] for each in ends] for ends in every]


def agent(wire: Wire, token: str = "it is me") -> Agent:
    return Agent(wire, StaticToken(token))


def answered(wire: Wire) -> Coroutine[Any, Any, None]:
    wire.go.set()
    return agent(wire).end(7, WELL)


@pytest.mark.parametrize(
    ("how", "body"),
    [
        (WELL, {"job": 7}),
        (Ending(exit_code=3), {"job": 7, "exit_code": 3}),
        (Ending(signal=9), {"job": 7, "signal": 9}),
        (Ending(out_of_memory=True), {"job": 7, "out_of_memory": True}),
    ],
)
def test_it_says_how_a_job_ended_and_who_says_so(how: Ending, body: dict[str, Any]) -> None:
    wire = Wire()
    wire.go.set()
    asyncio.run(agent(wire).end(7, how))
    (message,) = wire.sent
    assert (message.method, message.target) == ("POST", "/windlass/v1/ends")
    assert message.headers == {"X-SLURM-USER-TOKEN": "it is me"}
    assert json.decode(message.body) == {"ends": [body]}


@pytest.mark.parametrize(
    ("errno", "error"),
    [
        (2017, Absent),
        (2021, Absent),
        (2010, Unauthorized),
        (2189, Refused),
        (1800, Unavailable),
    ],
)
def test_what_slurm_says_of_a_job_is_raised(errno: int, error: type[SlurmError]) -> None:
    wire = Wire({7: {"errno": errno, "error": "said"}})
    with pytest.raises(error, match="said") as caught:
        asyncio.run(answered(wire))
    assert caught.value.errno == errno


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (Response(401, is_json=True, body=b'{"error": "said"}'), Unauthorized),
        (Response(501, is_json=True, body=b'{"error": "said"}'), Refused),
        (Response(404, is_json=False, body=b"nothing here"), Refused),
        (Response(502, is_json=False, body=b"a proxy said"), Unavailable),
        (Response(200, is_json=False, body=b"what?"), Unavailable),
        (Response(200, is_json=True, body=b'{"ends": [{"job": 8}]}'), Unavailable),
    ],
)
def test_what_is_said_of_the_whole_is_raised(response: Response, error: type[SlurmError]) -> None:
    with pytest.raises(error) as caught:
        asyncio.run(answered(Wire(whole=response)))
    assert caught.value.errno == 0


def test_a_token_of_two_lines_is_not_sent() -> None:
    wire = Wire()
    with pytest.raises(Unauthorized):
        asyncio.run(agent(wire, "one\r\ntwo").end(7, WELL))
    assert wire.sent == []


def test_what_comes_while_a_call_is_under_way_goes_together() -> None:
    async def story() -> tuple[list[list[int]], list[Any]]:
        wire = Wire({3: {"errno": 2189, "error": "no"}})
        shared = agent(wire)
        tasks = [asyncio.create_task(shared.end(job, WELL)) for job in range(1, AT_ONCE + 4)]
        while not wire.sent:
            await asyncio.sleep(0)
        late = asyncio.create_task(shared.end(9999, WELL))
        await asyncio.sleep(0)
        wire.go.set()
        found = await asyncio.gather(*tasks, late, return_exceptions=True)
        return wire.jobs, found

    calls, found = asyncio.run(story())
    assert calls == [[1], list(range(2, AT_ONCE + 2)), [AT_ONCE + 2, AT_ONCE + 3, 9999]]
    assert [number for number, each in enumerate(found, 1) if each is not None] == [3]


def test_whoever_gives_up_leaves_the_call_to_the_next() -> None:
    async def story() -> list[list[int]]:
        wire = Wire(stuck=2)
        shared = agent(wire)
        first, second, third = (asyncio.create_task(shared.end(job, WELL)) for job in (1, 2, 3))
        await asyncio.sleep(0)
        wire.go.set()
        await first
        while len(wire.sent) < 2:
            await asyncio.sleep(0)
        second.cancel()
        await third
        assert second.cancelled()
        return wire.jobs

    assert asyncio.run(story()) == [[1], [2, 3], [3]]
