"""The operator as a process of its own, and what it costs."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from windlass.api import names
from windlass.local.masters import tail
from windlass.testing.kube import DIES_WITH_US
from windlass.testing.ports import free_ports

WINDLASS: Final = Path(sys.executable).with_name("windlass")
TICKS: Final = os.sysconf("SC_CLK_TCK")
# The names of Services lead nowhere here, so it has a hosts file of its own.
WITH_HOSTS: Final = 'mount --bind "$0" /etc/hosts && exec "$@"'


@dataclass(frozen=True, slots=True)
class Operator:
    process: subprocess.Popen[bytes]
    log: Path

    def cpu(self) -> float:
        """Seconds so far."""
        self.check()
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        return sum(map(int, stat.rpartition(")")[2].split()[11:13])) / TICKS

    def peak(self) -> float:
        """The most memory that it had, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1000

    def check(self) -> None:
        if self.process.poll() is not None:
            raise RuntimeError(f"the operator ended:\n{tail(self.log, 30)}")


@contextmanager
def operator(kubeconfig: Path, namespace: str, rest_api: str) -> Iterator[Operator]:
    """One that looks after a namespace; its RestApi is answered on this machine."""
    folder = kubeconfig.parent
    hosts, log = folder / f"hosts-{namespace}", folder / f"operator-{namespace}.log"
    service = f"{names.slurmrestd(rest_api)}.{namespace}"
    hosts.write_text(f"127.0.0.1 localhost {service}\n")
    enter = ("unshare", "--mount", "sh", "-c", WITH_HOSTS, str(hosts))
    words = [
        *(str(WINDLASS), "operator", "run", f"--kubeconfig={kubeconfig}"),
        *(f"--namespaces={namespace}", f"--leader-elect-namespace={namespace}"),
        *(f"--health-port={free_ports(1)[0]}", "--log-format=text"),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen([*DIES_WITH_US, *enter, *words], stdout=out, stderr=out)
    try:
        yield Operator(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
