"""How the operator goes about it, word for word: each decision with its reason."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from random import seed
from typing import Any, Final, TypeAlias

import pytest

from tests.sim import slurm_people
from tests.sim.ending import unsettled
from tests.sim.stage import SET, Stage, staged
from windlass.kube import kinds
from windlass.testing.virtual import clock, run

Story: TypeAlias = Callable[[Stage], Coroutine[Any, Any, None]]

GOLDEN: Final = Path(__file__).with_name("golden")
LIMITS: Final = {"resources": {"limits": {"cpu": "4", "memory": "4Gi"}}}


async def scale_in_with_jobs(stage: Stage) -> None:
    """Two of four workers have jobs; one is kept, the others go when their jobs are over."""
    _submit(stage, 30.0)
    _submit(stage, 60.0)
    await stage.pass_time(5)
    _say(stage, "scales from 4 to 1", {"replicas": 1})
    await stage.pass_time(10)
    _say(stage, "scales from 1 to 2", {"replicas": 2})
    await stage.until(lambda: unsettled(stage) is None)


async def scale_in_as_a_job_starts(stage: Stage) -> None:
    """A long job starts before the operator can know of it; the worker of the short one goes."""
    _submit(stage, 30.0)
    await stage.pass_time(5)
    _submit(stage, 600.0)
    _say(stage, "scales from 4 to 1", {"replicas": 1})
    await stage.pass_time(60)
    stage.slurmds.finish_all(clock())
    await stage.until(lambda: unsettled(stage) is None)


async def rolling_update(stage: Stage) -> None:
    """One worker at a time; the one with a job is the last."""
    _submit(stage, 60.0)
    await stage.pass_time(5)
    _say(stage, "sets the image to slurmd:2", {"slurmd": {"image": "slurmd:2", **LIMITS}})
    await stage.until(lambda: unsettled(stage) is None, within=300)


async def cordon_and_recovery(stage: Stage) -> None:
    """A busy worker's node is cordoned and comes back; an administrator's drain stays his."""
    _submit(stage, 20.0)
    await stage.pass_time(5)
    stage.transcript.say("user", "cordons n0 and n1")
    for node in ("n0", "n1"):
        stage.change(kinds.NODE, node, {"spec": {"unschedulable": True}})
    await stage.pass_time(30)
    name = stage.pods_on("n1")[0]
    stage.transcript.say("people", slurm_people.mark(stage, name, "DRAIN", "bad disk"))
    await stage.pass_time(5)
    stage.transcript.say("user", "uncordons n0 and n1")
    for node in ("n0", "n1"):
        stage.change(kinds.NODE, node, {"spec": {"unschedulable": None}})
    await stage.pass_time(30)
    stage.transcript.say("people", slurm_people.resume_node(stage, name))
    await stage.until(lambda: unsettled(stage) is None)


def _submit(stage: Stage, lasts: float) -> None:
    stage.slurmds.submit(1, lasts, clock())


def _say(stage: Stage, what: str, spec: dict[str, Any]) -> None:
    stage.transcript.say("user", what)
    stage.change(kinds.NODE_SET, SET, {"spec": spec})


async def _told(story: Story) -> str:
    strategy = {"rollingUpdate": {"maxUnavailable": 1}}
    async with staged(7, replicas=4, slurmd=LIMITS, updateStrategy=strategy) as stage:
        await stage.until(lambda: unsettled(stage) is None)
        await story(stage)
        stage.judge.conclude()
        return stage.transcript.story()


@pytest.mark.parametrize(
    "story", [scale_in_with_jobs, scale_in_as_a_job_starts, rolling_update, cordon_and_recovery]
)
def test_the_story_is_told_as_before(story: Story, pytestconfig: pytest.Config) -> None:
    seed(7)
    told = run(_told(story))
    golden = GOLDEN / f"{story.__name__}.txt"
    if pytestconfig.getoption("--update-golden"):
        golden.write_text(told)
    assert told == golden.read_text()
