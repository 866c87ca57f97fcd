"""The bridge on a cluster as its users install it: its chart, nodes for it, and first workloads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

from windlass.bridge import words
from windlass.local.errors import CommandFailed
from windlass.local.kubectl import Kubectl
from windlass.local.slurm import Slurm
from windlass.local.waiting import wait_for

RELEASE: Final = "windlass-bridge"
NAMESPACE: Final = "slurm-bridge"
"""Pods of this namespace are Slurm's."""
DEPLOYMENTS: Final = ("windlass-bridge", "windlass-bridge-admission")
LOOKED_AT: Final = "/tmp/looked-at"  # noqa: S108 - in a pod
"""The pods run until they have this file, so that they can be looked at together."""
COLUMNS: Final = {
    "POD": ".metadata.name",
    "STATUS": ".status.phase",
    "NODE": ".spec.nodeName",
    "JOB": ".metadata.labels." + words.JOB_ID.replace(".", r"\."),
}
WORKLOADS: Final = f"""
apiVersion: v1
kind: Pod
metadata:
  name: alone
  labels: {{first: pods}}
  annotations:
    {words.JOB_PREFIX}job-name: alone
    {words.JOB_PREFIX}timelimit: "5"
spec:
  restartPolicy: Never
  containers:
    - name: main
      image: IMAGE
      command: [sh, -c, "until [ -e {LOOKED_AT} ]; do sleep 0.2; done"]
      resources: {{requests: {{cpu: 50m, memory: 16Mi}}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: pair
  annotations:
    {words.JOB_PREFIX}timelimit: "5"
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template:
    metadata:
      labels: {{first: pods}}
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: IMAGE
          command: [sh, -c, "until [ -e {LOOKED_AT} ]; do sleep 0.2; done"]
          resources: {{requests: {{cpu: 50m, memory: 16Mi}}}}
"""


@dataclass(frozen=True, slots=True)
class Bridge:
    """One bridge, installed beside its Slurm."""

    slurm: Slurm
    values: Mapping[str, Any] = field(default_factory=dict)
    namespace: str = NAMESPACE

    @property
    def kubectl(self) -> Kubectl:
        return self.slurm.kubectl

    def install(self, seconds: int = 120) -> None:
        """Install the chart, and wait until both its parts answer."""
        home = self.slurm.namespace
        own = {
            "sharedConfig": {
                "slurmRestApi": f"http://slurm-restapi.{home}:6820",
                "slurmAgent": f"http://slurm-restapi.{home}:6821",
            },
            "admission": {"managedNamespaces": [self.namespace]},
        }
        chart = self.slurm.charts / "windlass-bridge"
        self.slurm.helm.install(RELEASE, chart, home, _over(own, self.values))
        for deployment in DEPLOYMENTS:
            status = ("rollout", "status", f"deployment/{deployment}", f"--timeout={seconds}s")
            self.kubectl(*status, "-n", home)

    def give(self, *nodes: str) -> None:
        """Make Kubernetes nodes nodes of Slurm, and wait until they take jobs."""
        self.kubectl("label", "nodes", *nodes, f"{words.EXTERNAL_NODE}=true", "--overwrite")
        wait_for(
            lambda: self.ready() >= set(nodes),
            f"Slurm has {', '.join(nodes)} in partition {words.PARTITION}",
            within=60,
            every=0.5,
        )

    def ready(self) -> set[str]:
        """Slurm's nodes of the partition that take jobs."""
        of = ("--Node", f"--partition={words.PARTITION}")
        listed = ("sinfo", "--noheader", *of, "--format=%N %T")
        try:
            rows = [line.split() for line in self.slurm.run(*listed).splitlines()]
        except CommandFailed:
            return set()
        return {row[0] for row in rows if row[1:] in (["idle"], ["mixed"], ["allocated"])}

    def run_first(self, image: str) -> str:
        """Run a pod and a gang of two; both systems' view of them, and what accounting keeps."""
        if self.kubectl.get("namespace", self.namespace) is None:
            self.kubectl("create", "namespace", self.namespace)
        there = ("-n", self.namespace)
        self.kubectl("delete", "pod/alone", "job/pair", "--ignore-not-found", *there)
        self.kubectl("apply", *there, "-f", "-", text=WORKLOADS.replace("IMAGE", image))
        running = self._wait("Running")
        both = beside(self.queue(), self.pods())
        for pod in running:
            self.kubectl("exec", *there, pod["metadata"]["name"], "--", "touch", LOOKED_AT)
        self._wait("Succeeded")
        jobs = ",".join(sorted({pod["metadata"]["labels"][words.JOB_ID] for pod in running}))
        return f"{both}\n\n{self._accounted(jobs)}"

    def queue(self) -> str:
        return self.slurm.run("squeue", "--format=%.6i %.8j %.9T %N")

    def pods(self) -> str:
        columns = ",".join(f"{name}:{path}" for name, path in COLUMNS.items())
        return self.kubectl(
            "get", "pods", "-n", self.namespace, f"--output=custom-columns={columns}"
        )

    def _wait(self, phase: str) -> list[Any]:
        """The first pods, once all of them have this phase."""

        def so() -> list[Any] | None:
            found = self.kubectl.get("pods", "-n", self.namespace, "--selector=first=pods")["items"]
            return found if [pod["status"]["phase"] for pod in found] == [phase] * 3 else None

        what = f"the pods in namespace {self.namespace} are {phase}"
        return wait_for(so, what, within=120, every=0.3)

    def _accounted(self, jobs: str) -> str:
        """sacct's lines, once none of the jobs runs there any more."""
        of = ("sacct", f"--jobs={jobs}", "--allocations")
        wait_for(
            lambda: "RUNNING" not in self.slurm.run(*of, "--noheader", "--format=State"),
            f"jobs {jobs} have ended in accounting",
            within=30,
            every=0.5,
        )
        return self.slurm.run(*of, "--format=JobID,JobName,User,NodeList%30,State%20,Elapsed")


def beside(left: str, right: str) -> str:
    """Two tables as one.

    >>> print(beside("a\\nbb", "c\\nd\\ne"))
    a    | c
    bb   | d
         | e
    """
    ours, theirs = left.rstrip().splitlines(), right.rstrip().splitlines()
    width = max(map(len, ours), default=0) + 2
    rows = zip_longest(ours, theirs, fillvalue="")
    return "\n".join(f"{one.rstrip():{width}} | {other.rstrip()}".rstrip() for one, other in rows)


def _over(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Values over others, section by section."""
    return {name: {**base.get(name, {}), **more.get(name, {})} for name in {**base, **more}}
