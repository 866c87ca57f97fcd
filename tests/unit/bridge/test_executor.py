"""Plans are carried out without drowning the API server."""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import TypeVar

from tests.unit.bridge.staging import Told
from windlass.bridge.ends import Cancels
from windlass.bridge.executor import AT_ONCE, Executor, Telling
from windlass.bridge.link import Link
from windlass.bridge.plan import DeletePod, Plan, Target
from windlass.bridge.seats import Seats
from windlass.kube.errors import NotFound, Status
from windlass.kube.objects import Pod
from windlass.kube.requests import Request
from windlass.kube.store import Store
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Transport
from windlass.testing.virtual import VirtualClock, run
from windlass.values.key import Key
from windlass.values.reason import Reason

T = TypeVar("T")
GONE = Reason("JobEnded", "its job has ended")


class Slow:
    """An API server that takes its time, and counts who waits for it."""

    def __init__(self) -> None:
        self.waiting = self.most = self.answered = 0

    async def send(self, request: Request[T]) -> T:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0.1)
        self.waiting -= 1
        self.answered += 1
        raise NotFound(Status(message="it is gone"))


def _nobody() -> AbstractAsyncContextManager[Transport]:
    raise AssertionError("nobody asks Slurm")


def _plan(gang: str, pods: int) -> Plan:
    targets = (Target(Key("team", f"{gang}-{each}"), f"{gang}-{each}") for each in range(pods))
    return Plan((tuple(DeletePod(each, GONE) for each in targets),))


def test_however_many_gangs_have_pods_to_write_few_writes_are_under_way_at_once() -> None:
    async def story() -> None:
        api, link = Slow(), Link("blue", StaticToken("me"), VirtualClock(), _nobody)
        telling = Telling(Told(), lambda: datetime.now(UTC), Seats(Store[Pod]()))
        executor = Executor(api, link, Cancels(link), telling)
        plans = (executor.carry_out(_plan(gang, AT_ONCE)) for gang in ("a", "b", "c"))
        await asyncio.gather(*plans)
        assert (api.answered, api.most) == (3 * AT_ONCE, AT_ONCE)

    run(story())
