"""The floor: what each pod needs at least, by connections that do nothing else."""

import asyncio
import time
from typing import Any

import msgspec

from bench.bridge import manifests
from bench.bridge.stage import PODS, Stage
from bench.workers.bare import Call
from windlass.bridge import words
from windlass.slurm import JobSpec
from windlass.slurm import requests as slurm


async def measure(stage: Stage, rounds: int) -> float:
    """Pods a second, the best of some rounds: the first also warms the servers."""
    return max([await _round(stage, number) for number in range(rounds)])


async def _round(stage: Stage, number: int) -> float:
    names = [f"floor-{number}-{each}" for each in range(stage.size)]
    await stage.create(manifests.pod(name, scheduler=manifests.FLOOR) for name in names)
    waiting, jobs = enumerate(names), list[int]()

    async def connection() -> None:
        for index, name in waiting:
            job = await _submitted(stage, name)
            await stage.bare.one(_note(name, job, index % stage.nodes))
            await stage.bare.one(_binding(name, index % stage.nodes))
            jobs.append(job)

    began = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(stage.workers):
            tasks.create_task(connection())
    took = time.monotonic() - began
    await stage.slurm.send(slurm.cancel_jobs(jobs))
    await stage.clear()
    await stage.until_jobs(0)
    return stage.size / took


async def _submitted(stage: Stage, name: str) -> int:
    spec = JobSpec(
        name=name,
        external=True,
        directory="/tmp",
        partition="all",
        min_nodes=1,
        max_nodes=1,
        cpus_per_task=1,
        tasks=1,
        memory_per_node=200,
        requeue=False,
        admin_comment='{"pods": ["bench/' + name + '"]}',
    )
    return (await stage.slurm.send(slurm.submit(spec))).job_id


def _note(name: str, job: int, node: int) -> Call:
    labels, annotations = {words.JOB_ID: str(job)}, {words.NODE: f"n-{node:03}"}
    body = {"metadata": {"labels": labels, "annotations": annotations}}
    return _call("PATCH", f"{PODS}/{name}", body)


def _binding(name: str, node: int) -> Call:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"kind": "Node", "name": f"n-{node:03}"},
    }
    return _call("POST", f"{PODS}/{name}/binding", body)


def _call(method: str, path: str, body: Any) -> Call:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    return Call(method, path, msgspec.json.encode(body), kind)
