"""`python -m bench.workers`: the table of what workers cost; see the package."""

import argparse
import asyncio

from bench.workers import floors, measures
from bench.workers.counting import counting
from bench.workers.servers import Servers, servers
from bench.workers.stage import OPERATED, Stage, clients, operated, sample
from windlass.slurm import connect


async def run(on: Servers, asked: argparse.Namespace) -> None:
    slurm = on.slurm
    with counting(slurm.slurmrestd_port) as proxy:
        async with (
            clients(on) as (kube, connections),
            connect(slurm.url, slurm.token(seconds=7200), timeout=120) as straight,
        ):
            size, per_node = asked.workers, asked.per_node
            stage = Stage(on, kube, connections, straight, proxy, size, per_node)
            if asked.memory:
                await measures.memory(stage)
            else:
                await _all(stage, asked)


async def _all(stage: Stage, asked: argparse.Namespace) -> None:
    await stage.add_nodes()
    floor = await floors.measure(stage, await sample(stage))
    async with operated(stage, OPERATED, 0) as made:
        await measures.measure(made, floor, rest=asked.rest, samples=asked.samples)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=__doc__)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--per-node", type=int, default=1, help="workers on one fake node")
    parser.add_argument("--rest", type=float, default=60.0, help="seconds of rest, 0 for none")
    parser.add_argument("--samples", type=int, default=50, help="of each latency, 0 for none")
    parser.add_argument("--memory", action="store_true", help="only how much memory it takes")
    asked = parser.parse_args()
    with servers(pods_start=not asked.memory) as on:
        asyncio.run(run(on, asked))


if __name__ == "__main__":
    main()
