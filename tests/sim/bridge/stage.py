"""One Slurm in virtual time, one or two Kubernetes clusters beside it, and their bridges."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from tests.sim.bridge.bridges import LEASE, working
from tests.sim.bridge.controllers import Controllers
from tests.sim.bridge.judge import Eye, Ground, Judge
from tests.sim.bridge.kubelets import Kubelets
from tests.sim.bridge.objects import DRIVER, GPU, NAMESPACE, ZONE
from tests.sim.bridge.slurmctld import Slurmctld
from tests.sim.hearing import listening
from tests.sim.passing import Passing
from tests.sim.processes import Processes, Program
from tests.sim.transcript import Transcript
from windlass.bridge import words
from windlass.bridge.world import OPTIONAL
from windlass.kube import kinds, requests
from windlass.kube.kinds import Kind
from windlass.kube.wire import Anything, Document
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import VirtualClock, clock
from windlass.values.key import Key

Json = dict[str, Any]

START: Final = 1_790_000_000.0
CPUS: Final = {"n0": 4, "n1": 4, "n2": 3}
ZONES: Final = {"n0": "a", "n1": "b", "n2": "b"}
PUBLISHES: Final = "n1"
"""The node whose devices a driver publishes."""
DEVICES: Final = 2


@dataclass
class Site:
    """A Kubernetes cluster with its bridge."""

    name: str
    kube: FakeKube
    slurm: FakeSlurm
    kubelets: Kubelets
    controllers: Controllers
    processes: Processes
    judge: Judge
    stage: "Stage"
    made: int = 0

    @property
    def rng(self) -> Random:
        return self.stage.rng

    def later(self, seconds: float, what: Callable[[], str]) -> None:
        self.stage.later(seconds, what)

    def end_faults(self) -> None:
        self.stage.end_faults()

    def called(self, sort: str) -> str:
        """A name that nobody had."""
        self.made += 1
        return f"{sort}{self.made}"

    def create(self, kind: Kind, name: str, **fields: Any) -> None:
        meta = {"name": name, **fields.pop("metadata", {})}
        place = NAMESPACE if kind.namespaced else ""
        if place:
            meta["namespace"] = place
        self.kube.answer(requests.create(kind, place, {"metadata": meta, **fields}, Document))

    def change(self, kind: Kind, name: str, fields: Json) -> None:
        key = Key(NAMESPACE if kind.namespaced else "", name)
        self.kube.answer(requests.merge_patch(kind, key, fields, Anything))

    @property
    def pods(self) -> dict[str, Json]:
        return {key.name: pod for key, pod in self.kube.all(kinds.POD)}

    @property
    def nodes(self) -> dict[str, Json]:
        return {key.name: node for key, node in self.kube.all(kinds.NODE)}

    def any(self, names: Iterable[str]) -> str | None:
        found = sorted(names)
        return self.rng.choice(found) if found else None

    def slurm_name(self, node: str) -> str:
        """Some nodes are called otherwise in Slurm."""
        return node if self.name == "blue" and node != "n1" else f"{self.name[0]}-{node}"

    def create_node(self, name: str) -> None:
        number = int(name[1:]) + (100 if self.name != "blue" else 0)
        labels = {ZONE: ZONES[name], words.EXTERNAL_NODE: ""}
        if self.slurm_name(name) != name:
            labels[words.NODE_NAME] = self.slurm_name(name)
        amounts = {"cpu": str(CPUS[name]), "memory": "8Gi"} | ({GPU: "2"} if name == "n0" else {})
        status = {
            "allocatable": amounts,
            "addresses": [{"type": "InternalIP", "address": f"10.0.0.{number}"}],
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": self.kube.time()}
            ],
        }
        self.create(kinds.NODE, name, metadata={"labels": labels}, status=status)
        if name == PUBLISHES and not self.kube.all(kinds.RESOURCE_SLICE):
            self.create(kinds.RESOURCE_SLICE, f"{name}-gpus", spec=_slice(name))


def _slice(node: str) -> Json:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"gpu-{number}"} for number in range(DEVICES)]
    return {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}


@dataclass
class Stage(Passing):
    seed: int
    slurm: FakeSlurm
    slurmctld: Slurmctld
    judge: Judge
    transcript: Transcript
    rng: Random
    """The chance of those who act; others have their own."""
    sites: list[Site] = field(default_factory=list)
    clear_since: float = 0.0
    _due: list[tuple[float, Callable[[], str]]] = field(default_factory=list)

    async def tick(self) -> None:
        now = clock()
        self._run_due(now)
        if self.judge.silent_since is not None or not all(
            each.processes.well for each in self.sites
        ):
            self.clear_since = now
        for site in self.sites:
            site.kubelets.tick(now)
            site.controllers.tick()
        self.slurmctld.tick()
        for site in self.sites:
            await site.processes.tick(now)
        self.judge.look("all")
        self.judge.conclude()


@asynccontextmanager
async def staged(seed: int, *names: str) -> AsyncIterator[Stage]:
    """Clusters of three nodes each, and bridges that start."""
    time = VirtualClock(START)
    transcript = Transcript()
    slurm = FakeSlurm(FakeCluster(now=time.now, defers=True))
    judge = Judge(slurm, transcript)
    slurmctld = Slurmctld(slurm, transcript)
    stage = Stage(seed, slurm, slurmctld, judge, transcript, Random(seed))
    for place, name in enumerate(names):
        stage.sites.append(_site(stage, name, time, seed + 10 * place))
    with listening(judge):
        try:
            yield stage
        finally:
            for site in stage.sites:
                await site.processes.stop()


def _site(stage: Stage, name: str, time: VirtualClock, seed: int) -> Site:
    kube = FakeKube(lambda: datetime.fromtimestamp(time.now(), UTC), OPTIONAL)
    kubelets = Kubelets(kube, stage.transcript, Random(seed + 1))
    ground = stage.judge.grounds[name] = Ground(name, kube, kubelets)
    program = Program(
        name,
        LEASE,
        working(name, time),
        kube,
        stage.slurm,
        Eye(stage.judge, ground),
        stage.transcript,
        Random(seed + 2),
    )
    processes = Processes(program)
    site = Site(name, kube, stage.slurm, kubelets, Controllers(kube), processes, stage.judge, stage)
    body = {"metadata": {"name": NAMESPACE}}
    kube.answer(requests.create(kinds.NAMESPACE, "", body, Document))
    for node in CPUS:
        site.create_node(node)
    return site
