"""Replay one simulated run: `uv run python -m tests.sim.bridge SEED [STEPS]`."""

import sys

from tests.sim.bridge.simulate import simulate
from tests.sim.bridge.test_bridge_simulation import STEPS


def main(seed: str, steps: str = str(STEPS)) -> int:
    played = simulate(int(seed), int(steps))
    print(played.transcript)
    return 1 if played.violation else 0


sys.exit(main(*sys.argv[1:]))
