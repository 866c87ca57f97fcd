"""Jobs on a real slurmctld and slurmdbd, ended by the real agent as what ran for them ended."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.contract.slurm_world import NEWEST, World, real_tokens, real_world
from windlass.slurm import requests
from windlass.slurm.agent import Agent, Ending
from windlass.slurm.errors import Absent, Refused, SlurmError, Unauthorized, Unavailable
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Address, HttpTransport
from windlass.testing.agent import RealAgent
from windlass.testing.slurm import RealSlurm
from windlass.testing.slurm_accounting import AccountedSlurm

WELL = Ending()


@pytest.fixture(scope="module")
def agent(accounted_slurm: AccountedSlurm) -> Iterator[RealAgent]:
    made = RealAgent(accounted_slurm.slurm)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def world(agent: RealAgent) -> Iterator[World]:
    """Jobs of a test end with it."""
    with real_world(agent.slurm, NEWEST) as made:
        yield made
        agent.slurm.inside("scancel", "--user=root")


@pytest.fixture
def token(agent: RealAgent) -> str:
    return agent.slurm.token()


def end(agent: RealAgent, token: str, ends: dict[int, Ending]) -> list[SlurmError | None]:
    """What became of each."""

    async def ended() -> list[Any]:
        async with HttpTransport(Address.parse(agent.url)) as transport:
            client = Agent(transport, StaticToken(token))
            work = (client.end(job, how) for job, how in ends.items())
            return await asyncio.gather(*work, return_exceptions=True)

    return asyncio.run(ended())


def accounted(slurm: RealSlurm, job: int) -> tuple[str, ...]:
    line = slurm.inside("sacct", "-n", "-P", "-X", "-j", str(job), "-o", "State,ExitCode")
    return tuple(line.strip().split("|"))


@pytest.mark.parametrize(
    ("how", "shown"),
    [
        (WELL, ("COMPLETED", "0:0")),
        (Ending(exit_code=3), ("FAILED", "3:0")),
        (Ending(exit_code=255), ("FAILED", "255:0")),
        (Ending(signal=9), ("FAILED", "0:9")),
        (Ending(signal=15), ("FAILED", "0:15")),
        (Ending(out_of_memory=True), ("OUT_OF_MEMORY", "0:125")),
    ],
)
def test_accounting_shows_how_it_ended(
    agent: RealAgent, world: World, token: str, how: Ending, shown: tuple[str, str]
) -> None:
    job = world.running_job(world.nodes(1))
    assert end(agent, token, {job: how}) == [None]
    world.wait(lambda: accounted(agent.slurm, job) == shown)
    assert world.send(requests.job(job)).state.base == shown[0]


def test_many_end_in_few_calls_and_one_that_cannot_keeps_none_from_it(
    agent: RealAgent, world: World, token: str
) -> None:
    jobs = [world.running_job([name]) for name in world.nodes(6)]
    ends = {**dict.fromkeys(jobs[:3], WELL), 999_999: WELL, **dict.fromkeys(jobs[3:], WELL)}
    found = end(agent, token, ends)
    assert [type(each) for each in found if each] == [Absent]
    world.wait(lambda: {accounted(agent.slurm, job)[0] for job in jobs} == {"COMPLETED"})


def test_a_job_that_has_ended_is_absent(agent: RealAgent, world: World, token: str) -> None:
    job = world.running_job(world.nodes(1))
    assert end(agent, token, {job: Ending(exit_code=2)}) == [None]
    (again,) = end(agent, token, {job: WELL})
    assert isinstance(again, Absent)
    assert world.send(requests.job(job)).exit_code.code == 2


def test_a_job_that_is_not_external_is_never_ended(
    agent: RealAgent, world: World, token: str
) -> None:
    submit = 'cd /tmp && exec sbatch --parsable --hold --wrap=true "$@"'
    job = int(agent.slurm.inside("sh", "-c", submit))
    many = int(agent.slurm.inside("sh", "-c", submit, "sbatch", "--array=1-3"))
    for error in end(agent, token, {job: WELL, many: WELL}):
        assert isinstance(error, Refused)
        assert "is no external job" in error.sentence
    for number in (job, many):
        assert world.send(requests.job(number)).state.pending


def test_slurmctld_judges_who_may(agent: RealAgent, world: World) -> None:
    job = world.running_job(world.nodes(1))
    _, forged, plain, _ = real_tokens(agent.slurm)
    expired = agent.slurm.token(seconds=1)
    world.wait(lambda: _refuses(agent, expired, 999_999, Unauthorized))
    for token in (forged, plain, "daemon", expired):
        assert _refuses(agent, token, job, Unauthorized)
    assert world.send(requests.job(job)).state.running


def _refuses(agent: RealAgent, token: str, job: int, error: type[SlurmError]) -> bool:
    (found,) = end(agent, token, {job: WELL})
    return isinstance(found, error)


def test_without_a_token_nobody_is_asked(agent: RealAgent) -> None:
    body = json.dumps({"ends": [{"job": 1}]}).encode()
    request = urllib.request.Request(f"{agent.url}/windlass/v1/ends", body, method="POST")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=10)
    assert caught.value.code == 401
    caught.value.close()


def test_a_token_holds_for_its_own_request_alone(
    agent: RealAgent, world: World, token: str
) -> None:
    """Threads are used again: none remembers whom it worked for."""
    for job in [world.running_job([name]) for name in world.nodes(3)]:
        assert _refuses(agent, "daemon", job, Unauthorized)
        assert end(agent, token, {job: WELL}) == [None]
        assert _refuses(agent, "daemon", job, Unauthorized)


def test_a_slurmctld_that_is_away_is_told_from_an_agent_that_is(
    slurm_with: Callable[[str], RealSlurm],
) -> None:
    slurm = slurm_with("MessageTimeout=2\n")
    agent = RealAgent(slurm)
    agent.start()
    with real_world(slurm, NEWEST) as world:
        job, token = world.running_job(world.nodes(1)), slurm.token()
        slurm.rest_slurmctld()
        (error,) = end(agent, token, {job: WELL})
        assert isinstance(error, Unavailable)
        assert error.errno
        agent.stop()
        (error,) = end(agent, token, {job: WELL})
        assert isinstance(error, Unavailable)
        assert not error.errno
