"""The bridge on a real slurmctld, with an API server in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from windlass.bridge import words
from windlass.bridge.ends import Cancels, Completes, Ends
from windlass.bridge.engine import Design, Engine, Gauges, Hands
from windlass.bridge.link import Link
from windlass.bridge.node_plan import COMMENT
from windlass.bridge.observe import Rules
from windlass.bridge.submission import Settings
from windlass.bridge.world import OPTIONAL
from windlass.kube import kinds, requests
from windlass.kube.events import Happening
from windlass.kube.kinds import Kind
from windlass.kube.metrics import Metrics
from windlass.kube.wire import Document
from windlass.mains.clock import SystemClock
from windlass.mains.kubernetes import boot_time, now
from windlass.slurm import requests as slurm
from windlass.slurm.agent import Agent
from windlass.slurm.model import Job, Node
from windlass.slurm.specs import JobSpec
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Address, HttpTransport, Transport
from windlass.testing.agent import RealAgent
from windlass.testing.fake_kube import FakeKube
from windlass.testing.slurm import RealSlurm
from windlass.values.key import Key

SETTINGS = Settings(cluster="blue", partition="all", mcs_label=None)
WITHIN = 30.0


class Told:
    def record(self, happening: Happening) -> None:
        """Nobody asks."""


@dataclass
class Stage:
    kube: FakeKube
    link: Link

    async def create(self, kind: Kind, name: str, **fields: Any) -> Document:
        namespace = "default" if kind.namespaced else ""
        meta = {"name": name, "namespace": namespace, **fields.pop("metadata", {})}
        body = {"metadata": meta, **fields}
        return await self.kube.send(requests.create(kind, namespace, body, Document))

    async def node(self, name: str, address: str, **more: str) -> None:
        status = {
            "allocatable": {"cpu": "4", "memory": "4000Mi", **more},
            "addresses": [{"type": "InternalIP", "address": address}],
        }
        await self.create(kinds.NODE, name, metadata={"labels": {words.EXTERNAL_NODE: ""}})
        await self.patch(kinds.NODE, Key("", name), {"status": status}, status=True)

    async def patch(
        self, kind: Kind, at: Key, change: dict[str, Any], *, status: bool = False
    ) -> None:
        part = "status" if status else ""
        await self.kube.send(requests.merge_patch(kind, at, change, Document, part))  # type: ignore[arg-type]

    async def pod(self, name: str, **limits: str) -> None:
        amounts = {"cpu": "1", "memory": "100Mi", **limits}
        container = {"name": "c", "image": "x", "resources": {"limits": amounts}}
        spec = {"schedulerName": words.SCHEDULER, "containers": [container]}
        await self.create(kinds.POD, name, spec=spec)

    async def phase(self, name: str, phase: str, code: int) -> None:
        ended = [{"name": "c", "state": {"terminated": {"exitCode": code}}}]
        status = {"phase": phase, "containerStatuses": ended}
        await self.patch(kinds.POD, Key("default", name), {"status": status}, status=True)

    def host(self, name: str) -> str:
        found = self.kube.find(kinds.POD, Key("default", name))
        return str((found or {"spec": {}})["spec"].get("nodeName", ""))

    def job(self, name: str) -> Job | None:
        found = self.kube.find(kinds.POD, Key("default", name))
        seen = self.link.seen()
        number = (found or {})["metadata"].get("labels", {}).get(words.JOB_ID)
        return seen.job(int(number)) if seen and number else None

    def slurm_node(self, name: str) -> Node | None:
        seen = self.link.seen()
        return seen.nodes.get(name) if seen else None

    def is_ours(self, name: str) -> bool:
        node = self.slurm_node(name)
        return node is not None and node.comment == COMMENT + "blue"

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(WITHIN):
            while not true():
                await asyncio.sleep(0.02)


@pytest.fixture(scope="module")
def server(slurm_with: Callable[[str], RealSlurm]) -> RealSlurm:
    return slurm_with("GresTypes=gpu,nic\n")


@asynccontextmanager
async def staged(server: RealSlurm, ends: Callable[[Link], Ends] = Cancels) -> AsyncIterator[Stage]:
    def dial() -> AbstractAsyncContextManager[Transport]:
        return HttpTransport(Address.parse(server.url))

    kube = FakeKube(now, OPTIONAL)
    link = Link(SETTINGS.cluster, StaticToken(server.token()), SystemClock(), dial)
    gauges = Gauges(boot_time, now, Metrics())
    design = Design(rules=Rules(settings=SETTINGS), ends=ends)
    engine = Engine(Hands(kube, kube, Told()), link, design, gauges)
    tasks = [asyncio.create_task(engine.mirror.run())]
    await engine.mirror.synced()
    tasks.append(asyncio.create_task(link.run()))
    tasks += [asyncio.create_task(each.run(lambda: None)) for each in engine.working]
    try:
        yield Stage(kube, link)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def test_nodes_and_pods_come_and_go(server: RealSlurm) -> None:
    async def story() -> None:
        async with staged(server) as stage:
            await stage.node("n1", "10.1.0.1")
            await stage.node("n2", "10.1.0.2")
            await stage.node("g1", "10.1.0.3", **{"nvidia.com/gpu": "2"})
            for name in ("n1", "n2", "g1"):
                await stage.until(partial(stage.is_ours, name))
            addresses = [node.address for each in ("n1", "n2") if (node := stage.slurm_node(each))]
            assert addresses == ["10.1.0.1", "10.1.0.2"]
            await stage.pod("gpu", **{"nvidia.com/gpu": "2"})
            await stage.until(lambda: stage.host("gpu") == "g1")
            await stage.pod("p", cpu="4")
            await stage.until(lambda: stage.host("p"))
            await _ends(stage)
            await _goes(stage)

    asyncio.run(story())


async def _ends(stage: Stage) -> None:
    """A pod that fails ends its job, which says so; one whose job is cancelled is deleted."""
    await stage.phase("p", "Failed", 3)
    await stage.until(lambda: (job := stage.job("p")) and job.state.ended)
    job = stage.job("p")
    assert job is not None
    assert job.comment == "windlass-bridge: pod p failed: exit code 3 (exit code 3)"
    held = stage.job("gpu")
    assert held is not None
    await stage.link.write(slurm.cancel(held.id))
    at = Key("default", "gpu")
    await stage.until(
        lambda: "deletionTimestamp" in (stage.kube.find(kinds.POD, at) or {})["metadata"]
    )
    await stage.phase("gpu", "Failed", 143)


async def _goes(stage: Stage) -> None:
    """Nodes follow cordons, and leave Slurm with their label."""
    at = Key("", "n1")
    await stage.patch(kinds.NODE, at, {"spec": {"unschedulable": True}})
    await stage.until(lambda: (node := stage.slurm_node("n1")) and node.state.drain)
    await stage.patch(kinds.NODE, at, {"spec": {"unschedulable": False}})
    await stage.until(lambda: (node := stage.slurm_node("n1")) and not node.state.drain)
    for name in ("n1", "g1"):
        bare = {"metadata": {"labels": {words.EXTERNAL_NODE: None}}}
        await stage.patch(kinds.NODE, Key("", name), bare)
    await stage.until(lambda: not any(stage.slurm_node(name) for name in ("n1", "g1")))


def test_jobs_end_as_their_pods_did_and_without_the_agent_they_say_so(server: RealSlurm) -> None:
    async def story(agent: RealAgent) -> None:
        async with HttpTransport(Address.parse(agent.url)) as wire:
            client = Agent(wire, StaticToken(server.token()))
            async with staged(server, lambda link: Completes(link, client)) as stage:
                await stage.node("e1", "10.3.0.1")
                await stage.until(lambda: stage.is_ours("e1"))
                well = await _ended(stage, "well", "Succeeded", 0)
                assert (well.state.base, well.comment) == ("COMPLETED", "")
                bad = await _ended(stage, "bad", "Failed", 3)
                assert (bad.state.base, bad.exit_code.code) == ("FAILED", 3)
                assert bad.comment == "windlass-bridge: pod bad failed: exit code 3"
                killed = await _ended(stage, "killed", "Failed", 137)
                assert (killed.state.base, killed.exit_code.signal) == ("FAILED", 9)
                agent.stop()
                alone = await _ended(stage, "alone", "Failed", 4)
                assert alone.state.base == "CANCELLED"
                assert alone.comment.endswith("pod alone failed: exit code 4 (exit code 4)")

    agent = RealAgent(server)
    agent.start()
    try:
        asyncio.run(story(agent))
    finally:
        agent.stop()


async def _ended(stage: Stage, name: str, phase: str, code: int) -> Job:
    """The job of a pod that ran and ended."""
    await stage.pod(name)
    await stage.until(lambda: stage.host(name))
    await stage.phase(name, phase, code)
    await stage.until(lambda: (job := stage.job(name)) and job.state.ended)
    job = stage.job(name)
    assert job is not None
    await stage.link.refresh(job.id)
    found = stage.job(name)
    assert found is not None
    return found


def test_a_gang_waits_for_room_grows_and_is_bound_in_the_order_of_ranks(
    server: RealSlurm,
) -> None:
    async def story() -> None:
        async with staged(server) as stage:
            for number in range(3):
                await stage.node(f"m{number}", f"10.2.0.{number + 1}")
            await stage.until(lambda: all(stage.slurm_node(f"m{n}") for n in range(3)))
            blocker = JobSpec(
                name="blocker",
                external=True,
                directory="/tmp",
                partition="all",
                nodes="3",
                shared=("none",),
                time_limit=10,
            )
            blocking = await stage.link.write(slurm.submit(blocker))
            made = await stage.create(
                kinds.JOB,
                "train",
                spec={"parallelism": 6, "completions": 6, "completionMode": "Indexed"},
            )
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}
            owners = [{**owner, "uid": made.metadata.uid, "controller": True}]
            for index in range(6):
                container = {"name": "c", "image": "x", "resources": {"limits": {"cpu": "2"}}}
                await stage.create(
                    kinds.POD,
                    f"train-{index}",
                    metadata={
                        "labels": {words.COMPLETION_INDEX: str(index)},
                        "ownerReferences": owners,
                    },
                    spec={"schedulerName": words.SCHEDULER, "containers": [container]},
                )
            pod = Key("default", "train-0")
            await stage.until(
                lambda: (stage.kube.find(kinds.POD, pod) or {})["status"].get("conditions")
            )
            shown = (stage.kube.find(kinds.POD, pod) or {})["status"]["conditions"][0]
            assert shown["message"].startswith("Slurm job")
            await stage.link.write(slurm.cancel(blocking.job_id))
            await stage.until(lambda: all(stage.host(f"train-{index}") for index in range(6)))
            hosts = [stage.host(f"train-{index}") for index in range(6)]
            assert hosts == ["m0", "m0", "m1", "m1", "m2", "m2"]

    asyncio.run(story())
