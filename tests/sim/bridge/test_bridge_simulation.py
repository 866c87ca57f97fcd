"""Thousands of random runs of the whole bridge, each of which must end well.

`WINDLASS_SEEDS=2000` says how many, `WINDLASS_FIRST_SEED=5000` where they begin, and
`WINDLASS_STEPS=20` how long each is. What failed is replayed by
`uv run python -m tests.sim.bridge SEED STEPS`.
"""

import os
from typing import Final

import pytest

from tests.sim.bridge.simulate import simulate

STEPS: Final = int(os.environ.get("WINDLASS_STEPS", "20"))
SEEDS: Final = int(os.environ.get("WINDLASS_SEEDS", "10"))
FIRST: Final = int(os.environ.get("WINDLASS_FIRST_SEED", "0"))
TOGETHER: Final = 10


@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, TOGETHER))
def test_nothing_is_used_twice_or_left_and_all_that_can_run_does(first: int) -> None:
    for seed in range(first, min(first + TOGETHER, FIRST + SEEDS)):
        played = simulate(seed, STEPS)
        assert played.violation is None, (
            f"seed {seed}: {played.violation}\n"
            f"replay: uv run python -m tests.sim.bridge {seed} {STEPS}\n{played.transcript}"
        )
