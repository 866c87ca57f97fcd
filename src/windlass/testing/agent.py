"""The agent on a real Slurm, as its pod runs it: as nobody, who can read no key."""

import subprocess
import urllib.request
from dataclasses import dataclass, field
from importlib import resources
from typing import Final

from windlass.local.waiting import wait_for
from windlass.testing.ports import free_ports
from windlass.testing.slurm import RealSlurm

# It ends with the process that entered the namespaces.
AS_NOBODY: Final = (
    *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig=KILL", "--"),
    "python3",
    "-c",
)


@dataclass(slots=True)
class RealAgent:
    slurm: RealSlurm
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, within: float = 30) -> None:
        """Return once it answers."""
        (self.port,) = free_ports(1)
        text = resources.files("windlass.inpod").joinpath("agent.py").read_text()
        with (self.slurm.logs / "agent.log").open("wb") as log:
            self._process = subprocess.Popen(
                [*self.slurm.contained.entering(), *AS_NOBODY, text, f"127.0.0.1:{self.port}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        wait_for(self._answers, "the agent answers", within=within)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except OSError:
            return False
