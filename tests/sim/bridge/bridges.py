"""The bridge as a process of a simulation."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from tests.sim.processes import Process
from windlass.bridge.engine import Design
from windlass.bridge.link import THRIFT, Link
from windlass.bridge.observe import Rules
from windlass.bridge.process import Means, Options, bridge
from windlass.bridge.submission import Settings
from windlass.kube.client import Client
from windlass.kube.manager import Settings as Serving
from windlass.kube.metrics import Metrics
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Transport
from windlass.testing.virtual import VirtualClock, clock
from windlass.values.key import Key

LEASE: Final = Key("default", "windlass-bridge")
DISK_PRESSURE: Final = "DiskPressure"
"""The condition of nodes that is to drain them in Slurm, too."""
FRUGAL: Final = replace(THRIFT, many=3)
"""As with a queue that is long."""


def working(cluster: str, time: VirtualClock) -> Callable[[Process], Coroutine[Any, Any, None]]:
    """How a process of the bridge of this cluster works."""
    settings = Settings(cluster=cluster, partition="all", mcs_label=None)
    design = Design(rules=Rules(settings=settings), conditions=(DISK_PRESSURE,), workers=4)

    def wall() -> datetime:
        return datetime.fromtimestamp(time.now(), UTC)

    async def work(process: Process) -> None:
        link = Link(cluster, StaticToken("it is me"), time, _dialling(process))
        link.thrift = FRUGAL
        means = Means(cast(Client, process.kube), Metrics(), clock, wall)
        serving = Serving(host="127.0.0.1", port=0)
        options = Options(identity=process.name, lease=LEASE, settings=serving)
        await bridge(means, link, design, options).run()

    return work


def _dialling(process: Process) -> Callable[[], AbstractAsyncContextManager[Transport]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Transport]:
        yield process.slurm

    return opened
