"""How a job is ended so that accounting tells the truth about its pods.

Slurm's REST API can only cancel. An agent beside slurmrestd can do better; without it the job is
cancelled, and its comment says how its pods ended.
"""

from typing import Protocol

from windlass.bridge.link import Link
from windlass.bridge.phases.gone import BY_US
from windlass.bridge.plan import Outcome
from windlass.slurm import requests
from windlass.slurm.errors import Absent, Refused
from windlass.slurm.specs import JobSpec


class Ends(Protocol):
    """Ends jobs of ours. A job that has ended already is no error."""

    async def end(self, job: int, outcome: Outcome) -> None: ...


class Cancels:
    """By REST alone."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def end(self, job: int, outcome: Outcome) -> None:
        code = "" if outcome.code is None else f" (exit code {outcome.code})"
        comment = JobSpec(comment=f"{BY_US} {outcome.sentence}{code}")
        try:
            await self._link.write(requests.update_job(job, comment))
        except Absent:
            return
        except Refused:  # it may have ended by itself: then it is not there to be cancelled either
            pass
        try:
            await self._link.write(requests.cancel(job))
        except Absent:
            return
