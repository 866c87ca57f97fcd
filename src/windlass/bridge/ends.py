"""How a job is ended so that accounting tells the truth about its pods.

Slurm's REST API can only cancel. The agent beside slurmrestd gives a job the end of its pods;
without it the job is cancelled, and its comment says how they ended.
"""

import logging
from collections.abc import Callable
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter

from windlass.bridge.link import Link
from windlass.bridge.phases.gone import BY_US
from windlass.bridge.plan import Outcome
from windlass.slurm import requests
from windlass.slurm.agent import Agent, Ending
from windlass.slurm.errors import Absent, Refused, SlurmError, Unavailable
from windlass.slurm.specs import JobSpec

log = logging.getLogger(__name__)


class Ends(Protocol):
    """Ends jobs of ours. A job that has ended already is no error."""

    async def end(self, job: int, outcome: Outcome) -> None: ...


class Cancels:
    """By REST alone."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def end(self, job: int, outcome: Outcome) -> None:
        code = "" if outcome.code is None else f" (exit code {outcome.code})"
        try:
            await _comment(self._link, job, f"{outcome.sentence}{code}")
            await self._link.write(requests.cancel(job))
        except Absent:
            return


class Completes:
    """By the agent where pods ran to an end; cancelled are others, and all if the agent fails."""

    def __init__(
        self, link: Link, agent: Agent, fell_back: Callable[[], None] = lambda: None
    ) -> None:
        self._link = link
        self._agent = agent
        self._cancels = Cancels(link)
        self._fell_back = fell_back

    async def end(self, job: int, outcome: Outcome) -> None:
        how = ending(outcome)
        if how is None:
            await self._cancels.end(job, outcome)
            return
        try:
            if how != Ending():  # the state alone says that all went well
                await _comment(self._link, job, outcome.sentence)
            await self._complete(job, how)
        except Absent:
            return
        except _AgentFailed as error:
            log.warning("job %d is cancelled, since the agent did not end it: %s", job, error)
            self._fell_back()
            await self._cancels.end(job, outcome)

    async def _complete(self, job: int, how: Ending) -> None:
        """What slurmctld does not answer is tried again as it is."""
        try:
            await self._link.change_job(lambda: self._agent.end(job, how))
        except Absent:
            raise
        except SlurmError as error:
            if isinstance(error, Unavailable) and error.errno:
                raise
            raise _AgentFailed(error.sentence) from error


class _AgentFailed(Exception):
    """The agent is not there, or does not do it."""


def ending(outcome: Outcome) -> Ending | None:
    """None where nothing ran to an end."""
    if outcome.code is None:
        return None
    return Ending(out_of_memory=True) if outcome.out_of_memory else Ending.of(outcome.code)


def fallbacks(registry: CollectorRegistry) -> Callable[[], None]:
    """Counts them."""
    text = "Jobs that were cancelled because the agent did not end them with their exit code."
    return Counter("windlass_agent_fallbacks", text, registry=registry).inc


async def _comment(link: Link, job: int, sentence: str) -> None:
    try:
        await link.write(requests.update_job(job, JobSpec(comment=f"{BY_US} {sentence}")))
    except Refused:  # it may have ended by itself: then it is not there to be ended either
        return
