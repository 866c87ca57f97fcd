"""The bridge as a process of its own, which can be held still."""

import asyncio
import signal
import subprocess
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from bench.bridge import manifests
from bench.workers.process import WINDLASS, Operator
from bench.workers.servers import Servers
from windlass.testing.kube import DIES_WITH_US
from windlass.testing.ports import free_ports

LEASE: Final = 7.0
"""Seconds; one that is held for much longer may lose its lease."""


@dataclass(frozen=True, slots=True)
class Bridge(Operator):
    async def after(self, work: Coroutine[Any, Any, None]) -> float:
        """Hold it still while something is done, and say when it went on: when that was done, or
        before that if it takes long."""
        self.process.send_signal(signal.SIGSTOP)
        doing = asyncio.create_task(work)
        try:
            await asyncio.wait([doing], timeout=LEASE)
        finally:
            self.process.send_signal(signal.SIGCONT)
        began = time.monotonic()
        await doing
        return began


@contextmanager
def bridge(servers: Servers, slurmrestd: int, workers: int) -> Iterator[Bridge]:
    folder = servers.operator_kubeconfig.parent
    config, log = folder / "bridge.yaml", folder / "bridge.log"
    config.write_text(manifests.CONFIG)
    words = [
        *(str(WINDLASS), "bridge", "run", f"--config={config}"),
        *(f"--kubeconfig={servers.operator_kubeconfig}", f"--workers={workers}"),
        *(f"--slurm=http://127.0.0.1:{slurmrestd}", f"--jwt-key-file={servers.slurm.jwt_key}"),
        *(f"--leader-elect-namespace={manifests.NAMESPACE}", "--log-format=text"),
        f"--health-port={free_ports(1)[0]}",
    ]
    with log.open("wb") as out:
        process = subprocess.Popen([*DIES_WITH_US, *words], stdout=out, stderr=out)
    try:
        yield Bridge(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
