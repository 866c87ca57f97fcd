"""The rows of the table, each after the one before it."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from bench.workers import floors
from bench.workers.audit import kinds as kinds_of_writes
from bench.workers.audit import without_effect
from bench.workers.counting import tally
from bench.workers.floors import Floors
from bench.workers.kubelets import kubelets, ready_node
from bench.workers.registering import registering
from bench.workers.stage import OPERATED, Operated, Stage, operated
from bench.workers.table import Row, percentile, show
from bench.workers.watching import Late, until
from windlass.kube import kinds, requests
from windlass.kube.wire import Anything
from windlass.slurm import NodeUpdate
from windlass.slurm import requests as slurm_requests
from windlass.values.key import Key

SETTLED: Final = 5.0
"""What a start still costs so long after all is well is part of it."""
OWNED: Final = 45.0
"""Seconds after which nodes without a slurmd have been told once whose they are."""
UNSERVED: Final = 20.0
"""A thing that has not begun to happen by then does not."""
DRAINED: Final = "SlurmNodeStateDrain"


# --- scale-out ------------------------------------------------------------------------------


async def scale_out(on: Operated, floor: Floors) -> None:
    size, pods = on.stage.size, on.seen.pods
    start, patience = await on.mark(), on.stage.patience
    began = time.monotonic()
    await on.scale(size)
    created = await until(lambda: pods.number() == size, "all pods are made", patience) - began
    counted = await until(lambda: on.counted(size), "the status counts them", patience) - began
    ready = await until(lambda: pods.number("Ready") == size, "all are ready", patience) - began
    try:
        right = await until(lambda: on.right(size), "the status is right", patience) - began
    except Late:
        print(f"the status is {on.seen.status()}")
        raise
    at_once = on.operator.cpu() - start.cpu
    await asyncio.sleep(SETTLED)
    used = await on.used(start)
    what = f"0 to {size:,} workers"
    show(Row(what=f"{what}, created", value=created, unit="s", floor=floor.created, times=3))
    said = f"{what}, all counted in the status"
    show(Row(what=said, value=counted, unit="s", floor=floor.created, times=3))
    show(Row(what=f"{what}, ready", value=ready, unit="s", floor=floor.ready))
    note = f"{right / floor.created:.2f} times bare creation"
    said = f"{what}, all ready in the status"
    show(Row(what=said, value=right, unit="s", floor=floor.ready, times=3, note=note))
    note = f"{at_once:.2f} s when the status was right"
    show(Row(what="operator CPU for that", value=used.cpu, unit="s", most=size / 100, note=note))
    each = len(used.writes) / size
    show(
        Row(
            what="API writes a worker", value=each, most=3, note=_list(kinds_of_writes(used.writes))
        )
    )
    idle = without_effect(used.writes)
    show(
        Row(
            what="API writes without effect",
            value=len(idle),
            most=0,
            note=_list(kinds_of_writes(idle)),
        )
    )
    refused = [one for one in used.writes if one.refused]
    show(Row(what="API writes refused", value=len(refused), note=_list(kinds_of_writes(refused))))
    show(
        Row(
            what="Slurm calls for that",
            value=len(used.calls),
            most=100,
            note=_list(tally(used.calls)),
        )
    )


# --- at rest --------------------------------------------------------------------------------


async def at_rest(on: Operated, seconds: float) -> None:
    await asyncio.sleep(OWNED)
    start = await on.mark()
    await asyncio.sleep(seconds)
    used = await on.used(start)
    what = f"at rest for {seconds:g} s: "
    show(Row(what=f"{what}CPU", value=used.cpu, unit="s", most=seconds / 60))
    note = _list(kinds_of_writes(used.writes))
    show(Row(what=f"{what}API writes but the lease", value=len(used.writes), most=0, note=note))
    # jobs/state and diag know no 304; they are a few hundred bytes.
    lists = [call for call in used.calls if call.code != 304 and not _brief(call.what)]
    show(
        Row(
            what=f"{what}lists that Slurm sent again",
            value=len(lists),
            most=0,
            note=_list(tally(used.calls)),
        )
    )


def _brief(what: str) -> bool:
    return any(path in what for path in ("/jobs/state", "/diag", "/ping"))


# --- latencies ------------------------------------------------------------------------------


async def condition_latency(on: Operated, samples: int) -> None:
    """From the call that drains a node in Slurm to the condition of its pod."""
    stage, pods = on.stage, on.seen.pods

    async def sample(name: str) -> float:
        began = time.monotonic()
        drain = NodeUpdate(state="DRAIN", reason="bench")
        await stage.slurm.send(slurm_requests.update_nodes([name], drain))
        try:
            return await until(lambda: pods.has(name, DRAINED), name, UNSERVED) - began
        finally:
            back = NodeUpdate(state="UNDRAIN")
            await stage.slurm.send(slurm_requests.update_nodes([name], back))
            await until(lambda: not pods.has(name, DRAINED), f"{name} is back", UNSERVED)

    floor = await floors.reading(stage)
    await _latency(on, "Slurm drain to pod condition", sample, samples, floor)


async def cordon_latency(on: Operated, samples: int) -> None:
    """From the call that cordons a node to the drain in Slurm."""
    stage = on.stage

    async def cordon(name: str, *, on_off: bool) -> None:
        node = Key("", on.seen.pods.node[name])
        change = {"spec": {"unschedulable": on_off or None}}
        await stage.kube.send(requests.merge_patch(kinds.NODE, node, change, Anything))

    async def drained(name: str, *, wanted: bool) -> float:
        deadline = time.monotonic() + UNSERVED
        while (await stage.slurm.send(slurm_requests.node(name))).state.drain is not wanted:
            if time.monotonic() > deadline:
                raise Late(name)
            await asyncio.sleep(0.02)
        return time.monotonic()

    async def sample(name: str) -> float:
        began = time.monotonic()
        await cordon(name, on_off=True)
        try:
            return await drained(name, wanted=True) - began
        finally:
            await cordon(name, on_off=False)
            await drained(name, wanted=False)

    floor = await floors.draining(stage, next(iter(on.seen.pods.by[""])))
    await _latency(on, "cordon to Slurm drain", sample, samples, floor)


async def _latency(
    on: Operated, what: str, sample: Callable[[str], Awaitable[float]], samples: int, floor: float
) -> None:
    """Of workers here and there, at moments that know nothing of anybody's rhythm."""
    chance = random.Random(1)
    names = sorted(on.seen.pods.by[""])
    took = []
    try:
        for name in chance.choices(names, k=samples):
            took.append(await sample(name))
            await asyncio.sleep(chance.uniform(0.2, 1.2))
    except Late:
        show(Row(what=f"{what}, 95 %", value=None, unit="s", floor=floor, most=1))
        return
    note = f"median {percentile(took, 0.5):.2f} s, worst {max(took):.2f} s of {samples}"
    value = percentile(took, 0.95)
    show(Row(what=f"{what}, 95 %", value=value, unit="s", floor=floor, most=1, note=note))


# --- scale-in -------------------------------------------------------------------------------


async def scale_in(on: Operated, floor: Floors) -> None:
    size, pods = on.stage.size, on.seen.pods
    half = size - size // 2
    what = f"{size:,} to {half:,} idle workers, status right"
    start = await on.mark()
    began = time.monotonic()
    await on.scale(half)
    try:
        await until(lambda: pods.number() < size, "the first goes", UNSERVED)
        took = (
            await until(lambda: on.right(half), "half of them are left", on.stage.patience) - began
        )
    except Late:
        show(Row(what=what, value=None, unit="s", floor=floor.deleted, times=3))
        return
    await asyncio.sleep(SETTLED)
    used = await on.used(start)
    show(Row(what=what, value=took, unit="s", floor=floor.deleted, times=3))
    show(Row(what="operator CPU for that", value=used.cpu, unit="s"))
    gone = len(used.writes) / (size - half)
    show(
        Row(
            what="API writes for each that goes",
            value=gone,
            note=_list(kinds_of_writes(used.writes)),
        )
    )
    show(Row(what="Slurm calls for that", value=len(used.calls), note=_list(tally(used.calls))))


# --- all ------------------------------------------------------------------------------------


async def measure(on: Operated, floor: Floors, *, rest: float, samples: int) -> None:
    async with registering(on.stage.slurm, on.seen.pods):
        await scale_out(on, floor)
        show_memory(on, "after scale-out")
        if rest:
            await at_rest(on, rest)
        if samples:
            await condition_latency(on, samples)
            await cordon_latency(on, samples)
        await scale_in(on, floor)
        show_memory(on, "of all")


async def memory(stage: Stage) -> None:
    """Of a scale-out and a scale-in. Nothing is said of time, so pods may start as they like."""
    size, patience = stage.size, stage.patience
    await stage.add_nodes(ready_node)
    async with (
        operated(stage, OPERATED, 0) as on,
        kubelets(stage.node_names, stage.bare, on.seen.pod_store),
        registering(stage.slurm, on.seen.pods),
    ):
        for replicas, when in ((size, "after scale-out"), (size - size // 2, "of all")):
            await on.scale(replicas)
            await until(partial(on.right, replicas), f"the status shows {replicas:,}", patience)
            await asyncio.sleep(SETTLED)
            show_memory(on, when)


def show_memory(on: Operated, when: str) -> None:
    most = 150 if on.stage.size <= 1_000 else 500
    what = f"peak memory at {on.stage.size:,} workers, {when}"
    show(Row(what=what, value=on.operator.peak(), unit="MB", most=most))


def _list(counted: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in counted.most_common(8))
