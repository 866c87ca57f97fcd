"""Everything that runs while something is measured."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from bench.workers import manifests
from bench.workers.audit import LATE, Audit, Write
from bench.workers.bare import Bare, bare, creating
from bench.workers.counting import Call, Counting
from bench.workers.process import Operator, operator
from bench.workers.servers import Servers
from bench.workers.watching import Namespace, until, watching
from windlass.api import names
from windlass.kube import kinds, requests
from windlass.kube.access import Access
from windlass.kube.client import Client
from windlass.kube.objects import Node
from windlass.kube.wire import Anything, Document
from windlass.local.waiting import wait_for
from windlass.mains.kubernetes import access
from windlass.slurm import Client as Slurm
from windlass.testing.kwok import fake_node
from windlass.values.key import Key

OPERATED: Final = "bench"
"""The namespace that the operator looks after."""
SAMPLE: Final = "sample"
START: Final = 60.0


@dataclass(frozen=True, slots=True)
class Stage:
    servers: Servers
    kube: Client
    bare: Bare
    slurm: Slurm
    proxy: Counting
    size: int
    per_node: int = 1
    """Workers on one node."""

    @property
    def patience(self) -> float:
        return START + self.size * 0.3

    def kubectl_create(self, *objects: dict[str, Any]) -> None:
        for each in objects:
            self.servers.kube.kubectl.apply(json.dumps(each))

    @property
    def node_names(self) -> list[str]:
        """Enough for all workers."""
        return [f"node-{number:05}" for number in range(-(-self.size // self.per_node))]

    async def add_nodes(self, like: Callable[[str], dict[str, Any]] = fake_node) -> None:
        """kwok has no more to do for them when they are ready."""
        names = self.node_names
        await self.bare.send(creating("/api/v1/nodes", map(like, names)))
        while await self._ready_nodes() < len(names):
            await asyncio.sleep(1)

    async def _ready_nodes(self) -> int:
        listed = await self.kube.send(requests.list_page(kinds.NODE, Node))
        return sum(map(_is_ready, listed.items or ()))


def _is_ready(node: Node) -> bool:
    found = node.status.conditions or ()
    return any(each.type == "Ready" and each.status == "True" for each in found)


@dataclass(frozen=True, slots=True)
class Mark:
    """What was used up to a moment."""

    cpu: float
    writes: int
    calls: int


@dataclass(frozen=True, slots=True)
class Used:
    cpu: float
    writes: list[Write]
    calls: list[Call]


@dataclass(frozen=True, slots=True)
class Operated:
    """A namespace, and the operator that looks after it."""

    stage: Stage
    operator: Operator
    seen: Namespace

    @property
    def node_set(self) -> Key:
        return Key(OPERATED, manifests.WORKERS)

    @property
    def audit(self) -> Audit:
        return self.stage.servers.audit

    async def scale(self, replicas: int) -> None:
        change = {"spec": {"replicas": replicas}}
        request = requests.merge_patch(kinds.NODE_SET, self.node_set, change, Anything)
        await self.stage.kube.send(request)

    def counted(self, size: int) -> bool:
        """Whether the status has as many workers as there are pods, ready or not."""
        self.operator.check()
        return self.seen.status().get("replicas") == self.seen.pods.number() == size

    def right(self, size: int) -> bool:
        """Whether pods and status show as many workers, all ready and idle in Slurm."""
        self.operator.check()
        pods, said = self.seen.pods, self.seen.status()
        shown = {said.get(each) for each in ("replicas", "readyReplicas", "slurmIdle")}
        counted = {pods.number(), pods.number("Ready"), pods.number("SlurmNodeStateIdle")}
        return shown == counted == {size}

    async def mark(self) -> Mark:
        cpu, calls = self.operator.cpu(), len(self.stage.proxy.calls)
        await asyncio.sleep(LATE)
        return Mark(cpu, self.audit.place(), calls)

    async def used(self, since: Mark) -> Used:
        cpu, calls = self.operator.cpu(), self.stage.proxy.calls[since.calls :]
        await asyncio.sleep(LATE)
        return Used(cpu - since.cpu, self.audit.since(since.writes), calls)


@asynccontextmanager
async def clients(servers: Servers) -> AsyncIterator[tuple[Client, Bare]]:
    reached: Access = access(servers.kube.kubeconfig)
    async with Client(reached) as kube, bare(reached) as connections:
        yield kube, connections


@asynccontextmanager
async def operated(stage: Stage, namespace: str, replicas: int) -> AsyncIterator[Operated]:
    """An operator that has come to rest but for these workers."""
    port = stage.proxy.port
    stage.kubectl_create(*manifests.namespace(namespace))
    stage.kubectl_create(*manifests.of_slurm(namespace, stage.servers.slurm, port))
    kubeconfig = stage.servers.operator_kubeconfig
    async with watching(stage.kube, namespace) as seen:
        with operator(kubeconfig, namespace, manifests.CLUSTER) as process:
            print(f"operator: process {process.process.pid}", file=sys.stderr)
            alone = stage.per_node == 1
            stage.kubectl_create(manifests.workers(namespace, replicas, alone=alone))
            await _serve_rest_api(stage, namespace)
            await until(lambda: bool(seen.status()), "the NodeSet has a status", START)
            yield Operated(stage, process, seen)


async def sample(stage: Stage) -> dict[str, Any]:
    """A pod as the operator makes it."""
    async with operated(stage, SAMPLE, 1) as made:
        await until(lambda: made.seen.pods.number("Ready") == 1, "a worker is ready", START)
        key = Key(SAMPLE, f"{manifests.WORKERS}-0")
        found = await stage.kube.send(requests.get(kinds.POD, key, Document))
    await stage.kube.send(requests.delete(kinds.NODE_SET, Key(SAMPLE, manifests.WORKERS)))
    await stage.kube.send(requests.delete(kinds.POD, key))
    return found.body


async def _serve_rest_api(stage: Stage, namespace: str) -> None:
    """slurmrestd answers elsewhere; the Deployment says so, as its controller would."""
    name = names.slurmrestd(manifests.CLUSTER)
    kubectl, key = stage.servers.kube.kubectl, Key(namespace, name)
    made = await asyncio.to_thread(
        lambda: wait_for(
            lambda: kubectl.get("deployment", name, "-n", namespace), name, within=START
        )
    )
    numbers = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas"), 1)
    status = {"status": {**numbers, "observedGeneration": made["metadata"]["generation"]}}
    request = requests.merge_patch(kinds.DEPLOYMENT, key, status, Anything, "status")
    await stage.kube.send(request)
