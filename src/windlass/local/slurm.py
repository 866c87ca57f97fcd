"""A small Slurm on a cluster, and a job on it: slurmctld and two workers from a plain manifest."""

import base64
import json
import secrets
from dataclasses import dataclass

from windlass.local.addons import render
from windlass.local.errors import CommandFailed
from windlass.local.kubectl import Kubectl
from windlass.local.waiting import wait_for

NAMESPACE = "slurm"
WORKERS = ("slurmd-0", "slurmd-1")
JOB = 'echo "job $SLURM_JOB_ID task $SLURM_PROCID on $(hostname) with CPUs $(nproc)"'


@dataclass(frozen=True, slots=True)
class Slurm:
    """Slurm in one namespace of a cluster."""

    kubectl: Kubectl
    image: str

    def install(self) -> None:
        """Apply the manifest; the key is made once and never written again."""
        self.kubectl.apply(render("slurm", {"namespace": NAMESPACE, "slurm_image": self.image}))
        if self.kubectl.get("secret", "slurm-key", "-n", NAMESPACE) is None:
            self.kubectl.apply(key_secret(secrets.token_bytes(1024)))

    def wait_until_idle(self, seconds: float = 180) -> None:
        """Wait until every worker has registered and takes jobs."""
        wait_for(self._idle, "the workers are idle in Slurm", within=seconds, every=0.5)

    def run(self, *words: str) -> str:
        """Run a command where Slurm's own commands work."""
        return self.kubectl("exec", "-n", NAMESPACE, "slurmctld-0", "--", *words)

    def run_job(self) -> str:
        """One task on each worker; returns what they said."""
        return self.run("srun", f"--nodes={len(WORKERS)}", "--label", "sh", "-c", JOB)

    def _idle(self) -> bool:
        try:
            states = self.run("sinfo", "--noheader", "--Node", "--format=%N %T")
        except CommandFailed:
            return False
        idle = {line.split()[0] for line in states.splitlines() if line.split()[1:] == ["idle"]}
        return idle >= set(WORKERS)


def key_secret(key: bytes) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "slurm-key", "namespace": NAMESPACE},
            "data": {"slurm.key": base64.b64encode(key).decode()},
        }
    )
