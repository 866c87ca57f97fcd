"""A whole cluster in virtual time: an API server, a Slurm, what stands around them, operators."""

import base64
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from tests.sim import reservations
from tests.sim.claims import Claims
from tests.sim.hearing import listening
from tests.sim.judge import Judge
from tests.sim.kubelets import Kubelets
from tests.sim.operators import LEASE, Operators
from tests.sim.passing import MOMENT, Passing
from tests.sim.processes import Processes, Program
from tests.sim.slurmds import Slurmds
from tests.sim.taking import Taking
from tests.sim.transcript import Transcript
from windlass.kube import kinds, requests
from windlass.kube.kinds import Kind
from windlass.kube.wire import Anything, Document
from windlass.operator.world import RESOURCES
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import VirtualClock, clock
from windlass.values.key import Key

Json = dict[str, Any]

NAMESPACE: Final = "hpc"
SET: Final = "w"
NODES: Final = 6
POOL: Final = "example.com/pool"
"""The label of nodes that may have workers."""
START: Final = 1_790_000_000.0


@dataclass
class Stage(Passing):
    seed: int
    kube: FakeKube
    slurm: FakeSlurm
    slurmds: Slurmds
    kubelets: Kubelets
    processes: Processes
    judge: Judge
    transcript: Transcript
    rng: Random
    """The chance of those who act; others have their own."""
    spec: Json
    """Of a NodeSet that is made anew."""
    _clear_since: float = 0.0
    _due: list[tuple[float, Callable[[], str]]] = field(default_factory=list)

    # --- time ----------------------------------------------------------------------------------

    async def tick(self) -> None:
        now = clock()
        self._run_due(now)
        if self.judge.silent_since is not None or not self.processes.well:
            self._clear_since = now
        self.kubelets.tick(now)
        self.slurmds.tick(now)
        reservations.tick(self.slurm.cluster)
        await self.processes.tick(now)
        self.judge.conclude()

    @property
    def clear(self) -> bool:
        """Whether nothing has been wrong for a while."""
        return clock() > self._clear_since + 5

    def wall(self) -> datetime:
        return datetime.fromtimestamp(self.slurm.cluster.now(), UTC)

    async def until(self, true: Callable[[], bool], within: float = 120.0) -> None:
        began = clock()
        while not true():
            assert clock() < began + within, "it did not come to that"
            await self.pass_time(MOMENT)

    # --- Kubernetes ------------------------------------------------------------------------------

    def create(self, kind: Kind, name: str, **fields: Any) -> None:
        meta = {"name": name, **fields.pop("metadata", {})}
        place = NAMESPACE if kind.namespaced else ""
        if place:
            meta["namespace"] = place
        self.kube.answer(requests.create(kind, place, {"metadata": meta, **fields}, Document))

    def change(self, kind: Kind, name: str, fields: Json) -> None:
        key = Key(NAMESPACE if kind.namespaced else "", name)
        self.kube.answer(requests.merge_patch(kind, key, fields, Anything))

    def live(self, kind: Kind, name: str) -> Json | None:
        return self.kube.find(kind, Key(NAMESPACE if kind.namespaced else "", name))

    @property
    def node_set(self) -> Json | None:
        """None if it is not there, or not for long."""
        found = self.live(kinds.NODE_SET, SET)
        return None if found is None or "deletionTimestamp" in found["metadata"] else found

    def create_set(self) -> None:
        self.create(kinds.NODE_SET, SET, spec=self.spec)

    def create_node(self, name: str, labels: Json) -> None:
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": self.kube.time()}
        status = {"conditions": [ready]}
        self.create(kinds.NODE, name, metadata={"labels": labels}, status=status)

    def ask(self, what: str, spec: Json) -> str | None:
        """A user changes the NodeSet."""
        if self.node_set is None:
            return None
        self.change(kinds.NODE_SET, SET, {"spec": spec})
        return f"user {what}"

    def any(self, names: Iterable[str]) -> str | None:
        found = sorted(names)
        return self.rng.choice(found) if found else None

    @property
    def pods(self) -> dict[str, Json]:
        return {key.name: pod for key, pod in self.kube.all(kinds.POD)}

    def pods_on(self, node: str) -> list[str]:
        return [name for name, pod in self.pods.items() if pod["spec"].get("nodeName") == node]

    @property
    def pool(self) -> set[str]:
        """The names of nodes that may have workers."""
        return {
            name for name, node in self.nodes.items() if POOL in node["metadata"].get("labels", {})
        }

    @property
    def nodes(self) -> dict[str, Json]:
        return {key.name: node for key, node in self.kube.all(kinds.NODE)}


@asynccontextmanager
async def staged(seed: int, **spec: Any) -> AsyncIterator[Stage]:
    """A cluster of six nodes with a Slurm and a NodeSet, and an operator that starts."""
    time = VirtualClock(START)
    transcript = Transcript()
    slurm = FakeSlurm(FakeCluster(now=time.now))
    kube = FakeKube(lambda: datetime.fromtimestamp(time.now(), UTC), RESOURCES)
    slurmds = Slurmds(slurm, transcript, Random(seed + 1))
    taking = Taking(kube, slurm, Key(NAMESPACE, SET))
    claims = Claims(kube, Key(NAMESPACE, SET))
    judge = Judge(kube, slurm, slurmds, taking, claims, transcript)
    kubelets = Kubelets(kube, slurmds, transcript, Random(seed + 2))
    work = Operators(time).work
    program = Program("operator", LEASE, work, kube, slurm, judge, transcript, Random(seed + 3))
    processes = Processes(program)
    wish = {
        "controllerRef": {"name": "slurm"},
        "replicas": 3,
        "template": {"spec": {"nodeSelector": {POOL: "yes"}}},
        **spec,
    }
    stage = Stage(
        seed, kube, slurm, slurmds, kubelets, processes, judge, transcript, Random(seed), wish
    )
    with listening(judge):
        _furnish(stage)
        try:
            yield stage
        finally:
            await processes.stop()


def _furnish(stage: Stage) -> None:
    stage.kube.answer(
        requests.create(kinds.NAMESPACE, "", {"metadata": {"name": NAMESPACE}}, Document)
    )
    for number in range(NODES):
        name = f"n{number}"
        stage.create_node(name, {"kubernetes.io/hostname": name, POOL: "yes"})
    secret = base64.b64encode(b"a key").decode()
    stage.create(kinds.SECRET, "slurm-auth-slurm", data={"slurm.key": secret})
    stage.create(kinds.SECRET, "slurm-auth-jwt", data={"jwt.key": secret})
    stage.create(kinds.CONTROLLER, "slurm", spec={})
    stage.create(kinds.REST_API, "rest", spec={"controllerRef": {"name": "slurm"}})
    stage.create_set()
