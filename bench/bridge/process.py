"""The bridge as a process of its own, which can be held still."""

import asyncio
import shutil
import signal
import subprocess
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.bridge import manifests
from bench.workers.process import Operator
from bench.workers.servers import Servers
from windlass.testing.kube import DIES_WITH_US
from windlass.testing.ports import free_ports

HALF: Final = 0.5
LEASE: Final = 7.0
"""Seconds; one that is held for much longer may lose its lease."""
INSIDE: Final = 'mount --bind "$1" "$0/mnt"; shift; exec chroot "$0" "$@"'


@dataclass(frozen=True, slots=True)
class Bridge(Operator):
    async def after(self, work: Coroutine[Any, Any, None]) -> float:
        """Hold it still while something is done, and say when it went on: when that was done, or
        before that if it takes long. It is always at the same part of a second, for slurmctld
        starts jobs as one begins."""
        self.process.send_signal(signal.SIGSTOP)
        doing = asyncio.create_task(work)
        try:
            await asyncio.wait([doing], timeout=LEASE)
            await asyncio.sleep(1.0 - (time.time() + HALF) % 1.0)
        finally:
            self.process.send_signal(signal.SIGCONT)
        began = time.monotonic()
        await doing
        return began


@contextmanager
def bridge(servers: Servers, image: Path, workers: int) -> Iterator[Bridge]:
    """In its image, with the Python of that, which is not the one that measures."""
    given = servers.operator_kubeconfig.parent / "bridge"
    given.mkdir(exist_ok=True)
    (given / "config.yaml").write_text(manifests.CONFIG)
    shutil.copy(servers.operator_kubeconfig, given / "kubeconfig")
    shutil.copy(servers.slurm.jwt_key, given / "jwt.key")
    words = [
        *("windlass", "bridge", "run", "--config=/mnt/config.yaml"),
        *("--kubeconfig=/mnt/kubeconfig", f"--workers={workers}"),
        *(f"--slurm={servers.slurm.url}", "--jwt-key-file=/mnt/jwt.key"),
        *(f"--leader-elect-namespace={manifests.NAMESPACE}", "--log-format=text"),
        f"--health-port={free_ports(1)[0]}",
    ]
    enter = ("unshare", "--mount", "sh", "-ec", INSIDE, str(image), str(given))
    log = given / "bridge.log"
    with log.open("wb") as out:
        process = subprocess.Popen([*DIES_WITH_US, *enter, *words], stdout=out, stderr=out)
    try:
        yield Bridge(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
