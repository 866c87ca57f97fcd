"""`python -m bench.bridge`: the table of what bridged pods cost; see the package."""

import argparse
import asyncio
import sys
from pathlib import Path

from bench.bridge import floor
from bench.bridge.measures import Bench
from bench.bridge.process import bridge
from bench.bridge.servers import servers
from bench.bridge.stage import Stage
from bench.bridge.watching import watching
from bench.workers.servers import Servers
from bench.workers.stage import clients
from windlass.slurm import connect
from windlass.slurm import requests as slurm


async def run(on: Servers, image: Path, asked: argparse.Namespace) -> None:
    there = on.slurm
    async with (
        clients(on) as (kube, bare),
        connect(there.url, there.token(seconds=7200), timeout=120) as straight,
        watching(kube) as pods,
    ):
        stage = Stage(on, kube, bare, straight, pods, asked.pods, asked.nodes, asked.workers)
        await stage.add_nodes()
        with bridge(on, image, asked.workers) as process:
            print(f"bridge: process {process.process.pid}, {process.log}", file=sys.stderr)
            async with asyncio.timeout(120):
                while len((await straight.send(slurm.nodes())).items) < asked.nodes:  # type: ignore[union-attr]
                    await asyncio.sleep(0.5)
        lowest = await floor.measure(stage, asked.rounds)
        with bridge(on, image, asked.workers) as process:
            await Bench(stage, process, lowest).measure(asked.behind, asked.rest)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.bridge", description=__doc__)
    parser.add_argument("--pods", type=int, default=1_000)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--behind", type=int, default=5_000, help="pods that wait, 0 for none")
    parser.add_argument("--workers", type=int, default=16, help="passes of the bridge at once")
    parser.add_argument("--rest", type=float, default=60.0, help="seconds of rest, 0 for none")
    parser.add_argument("--rounds", type=int, default=2, help="of the floor")
    asked = parser.parse_args()
    with servers() as (on, image):
        asyncio.run(run(on, image, asked))


if __name__ == "__main__":
    main()
