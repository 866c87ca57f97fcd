"""Slurm on a cluster as its users install it: the operator's chart, Slurm's chart, a first job."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from windlass.local.errors import CommandFailed
from windlass.local.helm import Helm
from windlass.local.kubectl import Kubectl
from windlass.local.waiting import wait_for

NAMESPACE: Final = "slurm"
OPERATOR_NAMESPACE: Final = "windlass"
RELEASE: Final = "slurm"
LOGIN: Final = "deployment/slurm-login-slinky"
IMAGES: Final = ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "login", "mariadb", "windlass")
JOB: Final = """#!/bin/sh
#SBATCH --job-name=first --nodes=2 --ntasks-per-node=1 --output=/tmp/first-%j.out
srun --label sh -c 'echo "job $SLURM_JOB_ID task $SLURM_PROCID on $(hostname)"'
"""


@dataclass(frozen=True, slots=True)
class Job:
    """A job that has ended: what it said, and what accounting says of it."""

    number: str
    output: str
    accounted: str


@dataclass(frozen=True, slots=True)
class Slurm:
    """One Slurm cluster, installed by helm."""

    kubectl: Kubectl
    helm: Helm
    charts: Path
    values: Mapping[str, Any] = field(default_factory=dict)
    namespace: str = NAMESPACE

    def install_operator(self, values: Mapping[str, Any] | None = None) -> None:
        self.helm.install("windlass-crds", self.charts / "windlass-crds", OPERATOR_NAMESPACE)
        operator = self.charts / "windlass-operator"
        self.helm.install("windlass-operator", operator, OPERATOR_NAMESPACE, values)

    def install(self) -> None:
        self.helm.install(RELEASE, self.charts / "slurm", self.namespace, self.values)

    def wait_until_idle(self, workers: int = 2, seconds: float = 180) -> None:
        """Wait until so many workers take jobs."""
        wait_for(
            lambda: len(self.idle()) >= workers,
            f"{workers} workers are idle in Slurm",
            within=seconds,
            every=0.5,
        )

    def idle(self) -> set[str]:
        try:
            states = self.run("sinfo", "--noheader", "--Node", "--format=%N %T")
        except CommandFailed:
            return set()
        return {line.split()[0] for line in states.splitlines() if line.split()[1:] == ["idle"]}

    def run(self, *words: str, text: str | None = None) -> str:
        """Run a command where users do: on the login pod."""
        exec_ = ("exec", "-n", self.namespace, *(["-i"] if text else []), LOGIN, "-c", "login")
        return self.kubectl(*exec_, "--", *words, text=text)

    def run_job(self) -> Job:
        """One task on each of two workers, by sbatch."""
        number = self.run("sbatch", "--parsable", "--wait", text=JOB).strip()
        host = self.run("squeue", "--noheader", "--states=all", "--format=%B", f"--jobs={number}")
        output = self._on_worker(host.strip(), "cat", f"/tmp/first-{number}.out")  # noqa: S108
        return Job(number, output, self._accounted(number))

    def ssh_address(self) -> tuple[str, int] | None:
        """Where sshd answers, seen from outside the cluster; None if only from within."""
        service = self.kubectl.get("service", "slurm-login-slinky", "-n", self.namespace)
        port = next((each.get("nodePort") for each in service["spec"]["ports"]), None)
        nodes = self.kubectl.get("nodes")["items"]
        addresses = [
            address["address"]
            for node in nodes
            for address in node["status"]["addresses"]
            if address["type"] == "InternalIP"
        ]
        return (addresses[0], port) if port and addresses else None

    def _accounted(self, number: str) -> str:
        """sacct's lines; the record of a job that just ended may be a moment on its way."""
        words = ("sacct", f"--jobs={number}", "--allocations")
        wait_for(
            lambda: "COMPLETED" in self.run(*words, "--noheader", "--format=State"),
            f"job {number} is in accounting",
            within=30,
            every=0.5,
        )
        return self.run(*words, "--format=JobID,JobName,User,NodeList%30,State,ExitCode,Elapsed")

    def _on_worker(self, host: str, *words: str) -> str:
        label = f"nodeset.slinky.slurm.net/pod-hostname={host}"
        pods = self.kubectl.get("pods", "-n", self.namespace, "-l", label)["items"]
        name = pods[0]["metadata"]["name"]
        return self.kubectl("exec", "-n", self.namespace, name, "-c", "slurmd", "--", *words)
