"""The bridge as a process of its own, which can be held still."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from bench.bridge import manifests
from bench.workers.process import WINDLASS, Operator
from bench.workers.servers import Servers
from windlass.testing.kube import DIES_WITH_US
from windlass.testing.ports import free_ports

LEASE: Final = 10.0
"""One that is held for longer has lost its lease."""


@dataclass(frozen=True, slots=True)
class Bridge(Operator):
    @contextmanager
    def held(self) -> Iterator[None]:
        """Nothing is done meanwhile; what happens then is done at once."""
        self.process.send_signal(signal.SIGSTOP)
        since = time.monotonic()
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)
        if time.monotonic() - since > LEASE:
            raise RuntimeError("the bridge was held for so long that it has lost its lease")


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
