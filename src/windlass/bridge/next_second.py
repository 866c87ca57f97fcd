"""When a job may begin at the earliest that is submitted behind a long queue.

slurmctld compares a new job that could begin at once with every job that waits, and with 5,000 of
them that costs more than all the rest of its submission. But it starts an external job only when it
goes through its queue, as a second begins. So one that may not begin before the next second starts
as soon, and is compared with nobody. That holds where slurmctld looks every second and has the same
time as we have; where either is in doubt, a job may begin at once.
"""

from typing import Final

from msgspec import structs

from windlass.slurm import requests
from windlass.slurm.errors import SlurmError
from windlass.slurm.feed import Sender
from windlass.slurm.mirror import Mirror
from windlass.slurm.scheduling import looks_every_second
from windlass.slurm.specs import JobSpec
from windlass.values.clock import Clock, Seconds

LONG: Final = 1000
"""Jobs that Slurm knows of; to compare one with fewer costs it next to nothing."""
EVERY: Final = Seconds(10.0)
"""Between two looks at its clock."""
AGREED: Final = 3
"""Times in a row that its clock has shown the second that ours did."""


class NextSecond:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._agreed = 0
        self._ahead = 0.0
        """How far the time of day was from our steady clock at the last look at Slurm's."""

    async def follow(self, mirror: Mirror) -> None:
        """Learn what there is to know of a Slurm while its queue is long."""
        try:
            while True:
                long = len(mirror.jobs.table.items) >= LONG
                self._agreed = self._agreed + 1 if long and await self._agrees(mirror) else 0
                await self._clock.sleep(EVERY)
        finally:
            self._agreed = 0

    async def _agrees(self, slurm: Sender) -> bool:
        try:
            often = looks_every_second(await slurm.send(requests.conf()))
            asked_at = self._clock.now()
            told = (await slurm.send(requests.diag())).now
        except SlurmError:
            return False
        now = self._clock.now()
        self._ahead = now - self._clock.monotonic()
        return often and int(asked_at) <= told <= int(now)

    def given(self, spec: JobSpec) -> JobSpec:
        """The job as it is to be submitted now."""
        if self._agreed < AGREED or spec.begins_at is not None:
            return spec
        return structs.replace(spec, begins_at=int(self._clock.monotonic() + self._ahead) + 1)
