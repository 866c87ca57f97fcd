"""One run: people act, things go wrong, time passes; then all is well and must become right."""

import inspect
import random
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from tests.sim import faults
from tests.sim.acts import ACTS, leave
from tests.sim.claims import TEMPLATE
from tests.sim.ending import unsettled
from tests.sim.judge import Violated
from tests.sim.settling import STILL, settle
from tests.sim.stage import Stage, staged
from windlass.testing.virtual import clock, run

PAUSES: Final = (0.0, 0.1, 0.5, 0.5, 2.0, 2.0, 5.0, 15.0)
PATIENCE: Final = 400.0
"""Within so many seconds after the last fault all is as it is wanted."""
SHORTLY: Final = 15.0
"""Most runs look for less, to save time."""


@dataclass(frozen=True)
class Run:
    seed: int
    lasted: float
    transcript: str
    violation: str | None = None


def simulate(seed: int, steps: int) -> Run:
    """The same seed is the same run."""
    random.seed(seed)  # watches rest for random times
    return run(_played(seed, steps))


def _wish(rng: Random) -> dict[str, Any]:
    """The sort of NodeSet that this run is about."""
    return {
        "scalingMode": rng.choice(("StatefulSet", "StatefulSet", "DaemonSet")),
        "minReadySeconds": rng.choice((0, 0, 4)),
        "pinToNode": rng.choice((False, False, True)),
        "drain": rng.choice(({}, {"deadline": "20s"})),
        "volumeClaimTemplates": rng.choice(([], [TEMPLATE])),
        "persistentVolumeClaimRetentionPolicy": {
            "whenScaled": rng.choice(("Retain", "Delete")),
            "whenDeleted": rng.choice(("Retain", "Delete")),
        },
    }


async def _played(seed: int, steps: int) -> Run:
    async with staged(seed, **_wish(Random(seed))) as stage:
        violation = None
        try:
            await _play(stage, steps)
        except Violated as found:
            violation = str(found)
        return Run(seed, clock(), str(stage.transcript), violation)


async def _play(stage: Stage, steps: int) -> None:
    await stage.pass_time(stage.rng.choice((0.0, 5.0, 15.0)))
    for _ in range(steps):
        await _step(stage)
        await stage.pass_time(stage.rng.choice(PAUSES))
    faults.end_all(stage)
    leave(stage)
    stage.transcript.say("all", "is calm")
    still = STILL if stage.seed % 4 == 0 else SHORTLY
    await settle(stage, lambda: unsettled(stage), PATIENCE, 5.0, still)


async def _step(stage: Stage) -> None:
    table = (("people", ACTS), ("fault", faults.FAULTS))
    who, acts = table[stage.rng.random() < 0.25]
    weights, choices = zip(*acts, strict=True)
    said = stage.rng.choices(choices, weights)[0](stage)
    if inspect.isawaitable(said):
        said = await said
    if said:
        stage.transcript.say(who, said)
