"""The bridge at work in virtual time: an API server and a Slurm in memory."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from windlass.bridge import words
from windlass.bridge.ends import Cancels, Completes, Ends
from windlass.bridge.engine import Design, Engine, Gauges, Hands
from windlass.bridge.link import Link
from windlass.bridge.observe import Rules
from windlass.bridge.submission import Settings
from windlass.bridge.world import OPTIONAL
from windlass.kube import kinds, requests
from windlass.kube.events import Happening
from windlass.kube.kinds import Kind
from windlass.kube.metrics import Metrics
from windlass.kube.requests import Request
from windlass.kube.wire import Document
from windlass.slurm import wire as slurm_wire
from windlass.slurm.agent import Agent
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Transport
from windlass.testing import virtual
from windlass.testing.fake_agent import FakeAgent
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import VirtualClock, clock
from windlass.values.key import Key

T = TypeVar("T")
SETTINGS = Settings(cluster="blue", partition="all", mcs_label=None)


@dataclass
class Told:
    happenings: list[Happening] = field(default_factory=list)

    def record(self, happening: Happening) -> None:
        self.happenings.append(happening)

    @property
    def reasons(self) -> list[str]:
        return [each.reason for each in self.happenings]


@dataclass
class Stage:
    kube: FakeKube
    slurm: FakeSlurm
    told: Told
    time: VirtualClock
    agent: FakeAgent | None = None
    bridge: list[asyncio.Task[None]] = field(default_factory=list)
    late: float = 0.0
    """Seconds by which watches bring what happened."""
    lagging: str = ""
    """Of which selection; empty for all."""
    rules: Rules = field(default_factory=lambda: Rules(settings=SETTINGS))

    # --- Kubernetes ----------------------------------------------------------------------------

    async def create(self, kind: Kind, name: str, **fields: Any) -> Document:
        namespace = "team" if kind.namespaced else ""
        meta = {"name": name, "namespace": namespace, **fields.pop("metadata", {})}
        body = {"metadata": meta, **fields}
        return await self.kube.send(requests.create(kind, namespace, body, Document))

    async def node(self, name: str, cpus: int = 4, **metadata: Any) -> None:
        """A node of both."""
        await self.create(kinds.NODE, name, metadata=metadata)
        self.slurm.cluster.nodes[name] = slurm_wire.WireNode(
            name=name, state=["IDLE", "EXTERNAL"], cpus=cpus, real_memory=4000, partitions=["all"]
        )
        self.slurm.cluster.touch("nodes")

    async def pod(self, name: str, cpus: int = 1, **given: Any) -> Document:
        spec = {
            "schedulerName": words.SCHEDULER,
            "containers": [
                {"name": "c", "image": "x", "resources": {"requests": {"cpu": str(cpus)}}}
            ],
            **given.pop("spec", {}),
        }
        return await self.create(kinds.POD, name, metadata=given, spec=spec)

    def live(self, name: str) -> dict[str, Any]:
        found = self.kube.find(kinds.POD, Key("team", name))
        assert found is not None, f"there is no pod {name}"
        return found

    def there(self, name: str) -> bool:
        return self.kube.find(kinds.POD, Key("team", name)) is not None

    def leaving(self, name: str) -> bool:
        return "deletionTimestamp" in self.live(name)["metadata"]

    def kept(self, name: str) -> bool:
        """Whether our finalizer is on it."""
        found = self.kube.find(kinds.POD, Key("team", name)) or {"metadata": {}}
        return words.FINALIZER in (found["metadata"].get("finalizers") or ())

    def host(self, name: str) -> str:
        return str(self.live(name)["spec"].get("nodeName", ""))

    def condition(self, name: str) -> dict[str, Any]:
        every = self.live(name)["status"].get("conditions") or []
        return next((each for each in every if each["type"] == "PodScheduled"), {})

    async def phase(self, name: str, phase: str, code: int = 0) -> None:
        """What a kubelet says."""
        ended = {"terminated": {"exitCode": code}} if phase in ("Succeeded", "Failed") else {}
        status = {"phase": phase, "containerStatuses": [{"name": "c", "state": ended}]}
        where = Key("team", name)
        patch = requests.merge_patch(kinds.POD, where, {"status": status}, Document, "status")
        await self.kube.send(patch)

    async def delete(self, name: str) -> None:
        await self.kube.send(requests.delete(kinds.POD, Key("team", name)))

    def writes(self) -> list[str]:
        asked = (each for each in self.kube.asked if each.method != "GET")
        return [" ".join(each.name) for each in asked if each.path.startswith("/api/v1/namespaces")]

    # --- Slurm ---------------------------------------------------------------------------------

    def jobs(self, *states: str) -> list[slurm_wire.WireJob]:
        every = self.slurm.cluster.jobs.values()
        return [job for job in every if not states or {*(job.job_state or ())} & {*states}]

    def start(self, job: int) -> None:
        """Let Slurm look again whether a job can start."""
        cluster = self.slurm.cluster
        cluster.place(cluster.jobs[job], [])
        cluster.touch("jobs")

    def calls(self, call: str) -> int:
        return self.slurm.calls.count(call)

    # --- time ------------------------------------------------------------------------------------

    async def until(self, true: Callable[[], bool], within: float = 60.0) -> float:
        """How long it took, in virtual seconds."""
        began = clock()
        while not true():
            assert clock() < began + within, "it did not come to that"
            await asyncio.sleep(0.05)
        return clock() - began

    async def restart(self) -> None:
        """The bridge dies wherever it is, and another begins."""
        await self.stop()
        self.bridge = await started(self)

    async def stop(self) -> None:
        for task in self.bridge:
            task.cancel()
        await asyncio.wait(self.bridge)

    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.time.now(), UTC)


@dataclass
class _Late:
    """An API server whose watches may lag."""

    stage: Stage

    async def send(self, request: Request[T]) -> T:
        return await self.stage.kube.send(request)

    async def stream(self, request: Request[T]) -> AsyncGenerator[T, None]:
        async with aclosing(self.stage.kube.stream(request)) as events:
            async for event in events:
                if self.stage.late and self.stage.lagging in str(request.query):
                    await asyncio.sleep(self.stage.late)
                yield event


async def started(stage: Stage) -> list[asyncio.Task[None]]:
    """A bridge as its process makes it, but for the election."""

    def dial() -> AbstractAsyncContextManager[Transport]:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Transport]:
            yield stage.slurm

        return opened()

    def ends(link: Link) -> Ends:
        if stage.agent is None:
            return Cancels(link)
        return Completes(link, Agent(stage.agent, StaticToken("it is me")))

    link = Link(SETTINGS.cluster, StaticToken("it is me"), stage.time, dial)
    design = Design(rules=stage.rules, conditions=("DiskPressure",), ends=ends)
    hands = Hands(_Late(stage), stage.kube, stage.told)
    engine = Engine(hands, link, design, Gauges(clock, stage.moment, Metrics()))
    tasks = [asyncio.create_task(engine.mirror.run())]
    await engine.mirror.synced()
    tasks.append(asyncio.create_task(link.run()))
    tasks += [asyncio.create_task(each.run(lambda: None)) for each in engine.working]
    return tasks


def play(
    story: Callable[[Stage], Coroutine[Any, Any, None]],
    rules: Rules | None = None,
    *,
    agent: bool = False,
) -> Stage:
    """Run a story to its end, in no time; where asked for, with an agent beside slurmrestd."""

    async def whole() -> Stage:
        time = VirtualClock()
        slurm = FakeSlurm(FakeCluster(now=time.now))
        kube = FakeKube(lambda: datetime.fromtimestamp(time.now(), UTC), OPTIONAL)
        stage = Stage(kube, slurm, Told(), time, rules=rules or Rules(settings=SETTINGS))
        stage.agent = FakeAgent(slurm.cluster) if agent else None
        await stage.create(kinds.NAMESPACE, "team")
        stage.bridge = await started(stage)
        try:
            await story(stage)
        finally:
            await stage.stop()
        for task in stage.bridge:
            if not task.cancelled() and (error := task.exception()):
                raise error
        return stage

    return virtual.run(whole())
