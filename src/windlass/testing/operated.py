"""A Slurm cluster that the operator runs, as its users meet it: kubectl and Slurm's commands."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import yaml

from windlass.local.errors import CommandFailed
from windlass.local.kubectl import Kubectl
from windlass.local.waiting import wait_for

SAVED_WITHIN: Final = 10
ASK: Final = """
import sys, urllib.error as e, urllib.request as u
request = u.Request(sys.argv[1], headers={'X-SLURM-USER-TOKEN': sys.argv[2]})
try: print(u.urlopen(request, timeout=10).status)
except e.HTTPError as error: print(error.code)
except e.URLError as error: print(error.reason)
"""


@dataclass(frozen=True, slots=True)
class Operated:
    """One Controller and what belongs to it, in one namespace."""

    kubectl: Kubectl
    namespace: str
    name: str = "slurm"

    # --- Kubernetes --------------------------------------------------------------------------

    def apply(self, manifest: str) -> None:
        """As a user does: no field manager of ours, no namespace in the file."""
        self.kubectl("apply", "-n", self.namespace, "-f", "-", text=manifest)

    def patch(self, kind: str, name: str, change: dict[str, Any]) -> None:
        words = ("patch", kind, name, "-n", self.namespace, "--type=merge", "-p")
        self.kubectl(*words, json.dumps(change))

    def get(self, kind: str, name: str) -> Any:
        return self.kubectl.get(kind, name, "-n", self.namespace)

    def pods(self, labels: str) -> list[Any]:
        found = self.kubectl.get("pods", "-n", self.namespace, "-l", labels)
        return list(found["items"]) if found else []

    def condition(self, kind: str, name: str, type_: str) -> dict[str, Any] | None:
        found = self.get(kind, name)
        listed = ((found or {}).get("status") or {}).get("conditions") or []
        return next((each for each in listed if each["type"] == type_), None)

    def wait_condition(
        self, kind: str, name: str, type_: str, *, status: str = "True", within: float = 120
    ) -> dict[str, Any]:
        """The condition, once it has that status for the present generation."""

        def so() -> dict[str, Any] | None:
            found = self.get(kind, name)
            listed = ((found or {}).get("status") or {}).get("conditions") or []
            each = next((each for each in listed if each["type"] == type_), None)
            current = each and each.get("observedGeneration") == found["metadata"]["generation"]
            return each if each and current and each["status"] == status else None

        what = f"{kind}/{name} has {type_}={status}"
        return wait_for(so, what, within=within, every=0.2)

    def events(self, kind: str, name: str) -> set[str]:
        selector = f"regarding.kind={kind},regarding.name={name}"
        words = ("events.events.k8s.io", "-n", self.namespace, "--field-selector", selector)
        return {event["reason"] for event in self.kubectl.get(*words)["items"]}

    # --- Slurm -------------------------------------------------------------------------------

    def slurm(self, *words: str, text: str | None = None) -> str:
        """A command of Slurm's, in the slurmctld pod."""
        return self.inside(f"{self.name}-controller-0", "slurmctld", *words, text=text)

    def inside(self, pod: str, container: str, *words: str, text: str | None = None) -> str:
        flags = ("-i",) if text else ()
        at = ("exec", *flags, "-n", self.namespace, pod, "-c", container, "--")
        return self.kubectl(*at, *words, text=text)

    def setting(self, key: str) -> str:
        """What slurmctld has in force for a key of slurm.conf; nothing while it is away."""
        said = self.tried("scontrol", "show", "config")
        for line in said.splitlines():
            name, _, value = line.partition("=")
            if name.strip().lower() == key.lower():
                return value.strip()
        if said:
            raise KeyError(key)
        return ""

    def idle(self) -> set[str]:
        return self.nodes("idle")

    def nodes(self, *states: str) -> set[str]:
        listed = self.tried("sinfo", "--noheader", "--Node", "--format=%N %T")
        rows = [line.split() for line in listed.splitlines()]
        return {row[0] for row in rows if len(row) == 2 and row[1] in states}

    def tried(self, *words: str) -> str:
        """What a command says; nothing where it fails, for those who wait."""
        try:
            return self.slurm(*words)
        except CommandFailed:
            return ""

    def wait_idle(self, count: int, within: float = 180) -> set[str]:
        return wait_for(
            lambda: found if len(found := self.idle()) >= count else None,
            f"{count} workers of {self.namespace}/{self.name} are idle",
            within=within,
            every=0.5,
        )

    def submit(self, script: str, *words: str) -> str:
        """The number of a new job."""
        body = f"#!/bin/sh\n{script}\n"
        return self.slurm("sbatch", "--parsable", "--output=/dev/null", *words, text=body).strip()

    def asked(self, path: str, jwt: str) -> str:
        """The status that slurmrestd answers with, asked from a pod of the cluster."""
        address = self.get("restapi", self.name)["status"]["address"]
        return self.slurm("python3", "-c", ASK, f"{address}{path}", jwt).strip()

    def job_state(self, number: str) -> str:
        found = self.tried("scontrol", "show", "job", number, "--json")
        jobs = json.loads(found)["jobs"] if found else []
        return str(jobs[0]["job_state"][0]) if jobs else ""

    def wait_job(self, number: str, state: str, within: float = 120) -> None:
        wait_for(
            lambda: self.job_state(number) == state,
            f"job {number} is {state}, not {self.job_state(number)}",
            within=within,
            every=0.3,
        )

    def wait_saved(self) -> None:
        """Wait until the jobs that run are in the state on slurmctld's volume."""
        wait_for(self._jobs_are_saved, "the jobs are in the state on the volume", within=30)

    def _jobs_are_saved(self) -> bool:
        """slurmctld writes its state down at most five seconds after it changed; if it did within
        the second in which the last job began, the file's time says nothing until those are over.
        """
        listed = json.loads(self.slurm("squeue", "--states=RUNNING", "--json"))["jobs"]
        newest = max((job["start_time"]["number"] for job in listed), default=0)
        file = f"{self.setting('StateSaveLocation')}/job_state"
        now, saved = map(int, self.slurm("sh", "-c", f"date +%s; stat -c %Y {file}").split())
        return saved > newest or (saved == newest and now > newest + SAVED_WITHIN)


def documents(*objects: dict[str, Any]) -> str:
    return yaml.safe_dump_all(objects)


def until(said: Callable[[], Any], what: str, within: float = 60) -> Any:
    return wait_for(said, what, within=within, every=0.2)
