"""Pods that Slurm schedules, as their users meet them: kubectl and Slurm's commands."""

import json
from dataclasses import dataclass
from typing import Any

from windlass.bridge import words
from windlass.local.bridge import Bridge
from windlass.local.waiting import wait_for

IN_QUEUE = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}
IMAGE = "localhost/windlass/windlass:0.1.0"


@dataclass(frozen=True, slots=True)
class Bridged:
    """The managed namespace of a bridge, and the queue of its Slurm."""

    bridge: Bridge

    # --- Kubernetes --------------------------------------------------------------------------

    def apply(self, manifest: str) -> None:
        """As a user does; IMAGE stands for one that every node has."""
        text = manifest.replace("IMAGE", IMAGE)
        self.bridge.kubectl("apply", "-n", self.bridge.namespace, "-f", "-", text=text)

    def get(self, kind: str, name: str) -> Any:
        return self.bridge.kubectl.get(kind, name, "-n", self.bridge.namespace)

    def delete(self, kind: str, name: str) -> None:
        self.bridge.kubectl("delete", kind, name, "-n", self.bridge.namespace, "--wait=false")

    def pods(self, selector: str = "") -> dict[str, Any]:
        """By name."""
        chosen = (f"--selector={selector}",) if selector else ()
        found = self.bridge.kubectl.get("pods", "-n", self.bridge.namespace, *chosen)
        items = found["items"] if found else ()
        return {pod["metadata"]["name"]: pod for pod in items}

    def phases(self, selector: str = "") -> dict[str, str]:
        return {name: pod["status"]["phase"] for name, pod in self.pods(selector).items()}

    def wait_phases(self, phase: str, count: int, selector: str = "", within: float = 90) -> Any:
        """The pods, once there are so many and all have this phase."""

        def so() -> dict[str, Any] | None:
            found = self.pods(selector)
            shown = [pod["status"]["phase"] for pod in found.values()]
            return found if shown == [phase] * count else None

        what = f"{count} pods {selector} are {phase}, not {self.phases(selector)}"
        return wait_for(so, what, within=within, every=0.3)

    def wait_reason(self, name: str, code: str, within: float = 60) -> str:
        """The sentence of a waiting pod, once it has this reason."""

        def so() -> str | None:
            conditions = (self.get("pod", name) or {}).get("status", {}).get("conditions") or []
            said = {each["type"]: each for each in conditions}.get("PodScheduled") or {}
            return str(said["message"]) if said.get("reason") == code else None

        return wait_for(so, f"pod {name} waits for {code}", within=within, every=0.3)

    def clear(self) -> None:
        """Everything of the namespace, and wait until no pod is there."""
        kinds = (
            "jobsets.jobset.x-k8s.io,leaderworkersets.leaderworkerset.x-k8s.io,"
            "jobs,replicasets,pods,podgroups.scheduling.x-k8s.io"
        )
        self.bridge.kubectl(
            *("delete", kinds, "--all", "-n", self.bridge.namespace, "--timeout=90s"),
        )

    # --- Slurm -------------------------------------------------------------------------------

    def queue(self) -> dict[str, dict[str, Any]]:
        """Jobs that wait or run, by number."""
        found = json.loads(self.bridge.slurm.run("squeue", "--json"))["jobs"]
        return {str(job["job_id"]): job for job in found if job["job_state"][0] in IN_QUEUE}

    def accounted(self, number: str, *fields: str) -> list[str]:
        """What sacct says of a job; nothing while it knows nothing."""
        words_ = ("sacct", f"--jobs={number}", "--allocations", "--noheader", "--parsable2")
        return self.bridge.slurm.run(*words_, f"--format={','.join(fields)}").strip().split("|")


def job_of(pod: dict[str, Any]) -> str:
    return str(pod["metadata"].get("labels", {}).get(words.JOB_ID, ""))


def node_of(pod: dict[str, Any]) -> str:
    return str(pod["spec"].get("nodeName", ""))
