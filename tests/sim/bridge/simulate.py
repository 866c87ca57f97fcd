"""One run: people act, things go wrong, time passes; then all is well and must become right."""

import random
from collections.abc import Callable
from random import Random
from typing import Final

from tests.sim import faults
from tests.sim.bridge import administrators, hosts, people
from tests.sim.bridge.ending import leave, unsettled
from tests.sim.bridge.silence import silence
from tests.sim.bridge.stage import Site, Stage, staged
from tests.sim.judge import Violated
from tests.sim.settling import STILL, settle
from tests.sim.simulate import Run
from windlass.testing.virtual import clock, run

PAUSES: Final = (0.0, 0.1, 0.5, 0.5, 1.0, 2.0, 5.0, 12.0)
PATIENCE: Final = 600.0
"""Within so many seconds after the last fault all has run that can."""
SHORTLY: Final = 8.0
"""Most runs look for less, to save time."""

ACTS: Final[tuple[tuple[int, Callable[[Site], str | None]], ...]] = (
    (20, people.pod),
    (2, people.gated),
    (7, people.job),
    (5, people.job_set),
    (4, people.server),
    (5, people.group),
    (6, people.delete_pod),
    (2, people.delete_workload),
    (3, hosts.cordon),
    (1, hosts.sicken),
    (2, hosts.relabel),
    (1, hosts.resize),
    (2, hosts.replace),
    (5, administrators.submit),
    (6, administrators.cancel),
    (2, administrators.hold),
    (2, administrators.drain),
    (2, administrators.resume),
    (1, administrators.forget),
)
"""How often each is chosen."""


FAULTS: Final = tuple(
    (weight, silence if fault is faults.silence else fault) for weight, fault in faults.FAULTS
)


def simulate(seed: int, steps: int) -> Run:
    """The same seed is the same run."""
    random.seed(seed)  # watches rest for random times
    return run(_played(seed, steps))


async def _played(seed: int, steps: int) -> Run:
    names = ("blue", "green") if Random(seed).random() < 0.15 else ("blue",)
    async with staged(seed, *names) as stage:
        violation = None
        try:
            await _play(stage, steps)
        except Violated as found:
            violation = str(found)
        return Run(seed, clock(), str(stage.transcript), violation)


async def _play(stage: Stage, steps: int) -> None:
    await stage.pass_time(stage.rng.choice((0.0, 4.0, 6.0)))
    for _ in range(steps):
        _step(stage)
        await stage.pass_time(stage.rng.choice(PAUSES))
    for site in stage.sites:
        faults.end_all(site)
    leave(stage)
    stage.transcript.say("all", "is calm")
    still = STILL if stage.seed % 8 == 0 else SHORTLY
    await settle(stage, lambda: unsettled(stage), PATIENCE, 4.0, still)


def _step(stage: Stage) -> None:
    site = stage.rng.choice(stage.sites)
    if stage.rng.random() < 0.2:
        weights, choices = zip(*FAULTS, strict=True)
        said, who = stage.rng.choices(choices, weights)[0](site), "fault"
    else:
        weights, choices = zip(*ACTS, strict=True)
        said, who = stage.rng.choices(choices, weights)[0](site), site.name
    if said:
        stage.transcript.say(who, said)
