"""When pods that have their place are held."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

import msgspec
import pytest

from windlass.bridge import words
from windlass.bridge.gang import GangKey
from windlass.bridge.holding import WITHIN, Holding
from windlass.bridge.link import Seen
from windlass.bridge.world import World, watches
from windlass.kube.objects import Pod
from windlass.kube.queue import Queue
from windlass.kube.reflector import Mirror
from windlass.slurm.model import Job
from windlass.testing.fake_kube import FakeKube
from windlass.testing.virtual import clock, run
from windlass.values.clock import Instant
from windlass.values.states import JobState

VERSION = count(1)
LATE = 1
NOTED = {"annotations": {words.JOB_ID: "7"}}


@dataclass
class Traffic:
    busy: bool = True
    state: str | None = "RUNNING"

    def seen(self) -> Seen | None:
        if self.state is None:
            return None
        job = Job(id=7, state=JobState.parse([self.state]))
        return Seen({"7": job}, {}, Instant(0.0))


class Stage:
    def __init__(self) -> None:
        kube = FakeKube(lambda: datetime(2026, 7, 1, tzinfo=UTC))
        watched = watches(words.SCHEDULER)
        self.world = World(Mirror(kube, watched), watched)
        self.traffic, self.queue = Traffic(), Queue[GangKey](clock)
        self.holding = Holding(self.world, self.traffic, self.queue, LATE)
        self.world.pods.subscribe(self.holding.changed)

    def pod(self, node: str = "", **meta: Any) -> None:
        shown = {"name": "p", "namespace": "team", "uid": "u", **meta}
        body = {
            "metadata": {**shown, "resourceVersion": str(next(VERSION))},
            "spec": {"nodeName": node},
        }
        self.world.pods.put(msgspec.convert(body, Pod))

    async def woken(self, within: float = 0.1) -> bool:
        try:
            key = await asyncio.wait_for(self.queue.take(), within)
        except TimeoutError:
            return False
        self.queue.done(key)
        return True


def play(story: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        await story(Stage())

    run(main())


def test_a_pod_is_held_once_nobody_waits_to_be_bound() -> None:
    async def story(stage: Stage) -> None:
        stage.pod()
        stage.pod("n1", **NOTED)
        assert not await stage.woken(WITHIN - 1)
        stage.holding.calm()
        assert await stage.woken()

    play(story)


@pytest.mark.parametrize(
    ("busy", "state"), [(False, "RUNNING"), (True, None), (True, "COMPLETED"), (True, "CANCELLED")]
)
def test_a_pod_is_looked_at_at_once_where_nobody_waits_to_be_bound_or_its_job_may_be_over(
    busy: bool, state: str | None
) -> None:
    async def story(stage: Stage) -> None:
        stage.traffic.busy, stage.traffic.state = busy, state
        stage.pod()
        stage.pod("n1", **NOTED)
        assert await stage.woken()

    play(story)


GONE = {"deletionTimestamp": "2026-07-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("then", "held"), [({}, True), ({"finalizers": [words.FINALIZER]}, False), (GONE, False)]
)
def test_a_pod_that_is_not_held_after_a_while_goes_before_others(
    then: dict[str, Any], held: bool
) -> None:
    async def story(stage: Stage) -> None:
        stage.pod()
        stage.pod("n1", **NOTED)
        if then:
            stage.pod("n1", **NOTED, **then)
        await asyncio.sleep(WITHIN + 0.1)
        stage.queue.add(GangKey("Pod", "team", "other"))
        first = await stage.queue.take()
        assert (first.name == "p") == held

    play(story)


def test_a_pod_that_is_gone_is_not_held() -> None:
    async def story(stage: Stage) -> None:
        stage.pod("n1", **NOTED)
        (pod,) = stage.world.pods
        stage.world.pods.remove(pod.metadata.key)
        stage.holding.calm()
        assert not await stage.woken(2 * WITHIN)

    play(story)
