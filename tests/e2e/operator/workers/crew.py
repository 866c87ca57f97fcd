"""A Slurm for the stories of workers: its NodeSet `worker`, jobs that end when they are told to,
and the death of both who look after them."""

import json
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from windlass.local.process import run
from windlass.local.slurm import OPERATOR_NAMESPACE
from windlass.testing.local import WINDLASS
from windlass.testing.operated import Operated, until

WORKERS: Final = "app.kubernetes.io/name=slurmd"
OPERATOR: Final = "app.kubernetes.io/name=windlass-operator"
UNTIL_TOLD: Final = "until [ -e /tmp/end-$SLURM_JOB_ID ]; do sleep 0.2; done"


@dataclass(frozen=True, slots=True)
class Crew(Operated):
    # --- workers -------------------------------------------------------------------------------

    def scale(self, replicas: int, of: str = "worker") -> None:
        words = ("scale", f"nodeset/{of}", f"--replicas={replicas}", "-n", self.namespace)
        self.kubectl(*words)

    def change(self, of: str = "worker", **fields: Any) -> None:
        """Give fields of a NodeSet's spec; None takes one away."""
        self.patch("nodeset", of, {"spec": fields})

    def new_revision(self, **fields: Any) -> None:
        wave = [{"name": "WAVE", "value": uuid4().hex}]
        self.change(slurmd={"env": wave}, **fields)

    def workers(self, of: str = "worker") -> dict[str, str]:
        """By their names, the uids of those that are not on their way out."""
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for pod in self.pods(f"{WORKERS},app.kubernetes.io/instance={of}")
            if "deletionTimestamp" not in pod["metadata"]
        }

    def is_new(self, worker: str, before: dict[str, str]) -> bool:
        return self.workers().get(worker) not in (None, before[worker])

    def host_of(self, worker: str) -> str:
        return str(self.get("pod", worker)["spec"]["nodeName"])

    def available(self) -> int:
        """How many workers of the present generation are ready, by the status of their set."""
        found = self.get("nodeset", "worker") or {}
        status = found.get("status") or {}
        current = status.get("observedGeneration") == found["metadata"]["generation"]
        return int(status.get("availableReplicas", 0)) if current else 0

    def waits_for(self) -> str:
        found = self.condition("nodeset", "worker", "Progressing")
        return str(found["message"]) if found else ""

    def windlass(self, verb: str, *words: str) -> str:
        """`windlass nodeset`, as people call it."""
        where = ("--namespace", self.namespace, "--kubeconfig", self.kubectl.kubeconfig)
        return run([WINDLASS, "nodeset", verb, "worker", *words, *where])

    # --- Slurm ---------------------------------------------------------------------------------

    def node(self, worker: str) -> dict[str, Any]:
        """What Slurm says of a worker; empty while it does not know or answer."""
        said = self.tried("scontrol", "show", "node", worker, "--json")
        nodes = json.loads(said)["nodes"] if said else []
        return dict(nodes[0]) if nodes else {}

    def drained(self, worker: str) -> bool:
        return "DRAIN" in self.node(worker).get("state", [])

    def given_back(self, worker: str) -> bool:
        return not {"DRAIN", "DOWN"} & set(self.node(worker).get("state", ["DOWN"]))

    def start(self, worker: str, *words: str) -> str:
        """A job that runs on this worker until it is told to end."""
        number = self.submit(UNTIL_TOLD, f"--nodelist={worker}", "--ntasks=1", *words)
        self.wait_job(number, "RUNNING")
        return number

    def finish(self, number: str, worker: str) -> None:
        """Tell a job to end: it does if nothing has happened to it, and its exit code is 0."""
        self.inside(worker, "slurmd", "touch", f"/tmp/end-{number}")
        self.wait_job(number, "COMPLETED")

    # --- death ---------------------------------------------------------------------------------

    def kill_both(self) -> None:
        """Kill slurmctld and the operator; return when there are others in their places."""
        self.wait_saved()
        before = self._both()
        for where, what in (
            (self.namespace, "slurm-controller-0"),
            (OPERATOR_NAMESPACE, f"--selector={OPERATOR}"),
        ):
            self.kubectl("delete", "pod", what, "-n", where, "--grace-period=1", "--wait=false")
        until(lambda: self._both().isdisjoint(before), "both have been killed", 60)
        until(lambda: self.tried("scontrol", "show", "config"), "another slurmctld answers", 120)

    def _both(self) -> set[str]:
        """The uids of their pods, also of those that are about to end."""
        operators = self.kubectl.get("pods", "-n", OPERATOR_NAMESPACE, "-l", OPERATOR)["items"]
        slurmctld = self.get("pod", "slurm-controller-0")
        found = [*operators, *([slurmctld] if slurmctld else [])]
        return {pod["metadata"]["uid"] for pod in found}
