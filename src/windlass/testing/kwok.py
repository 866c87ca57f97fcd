"""Fake nodes by kwok beside the real ones: they cost no machine and run any number of pods."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windlass.local import binaries, daemons
from windlass.local.daemons import Daemon
from windlass.local.kubectl import Kubectl
from windlass.local.waiting import wait_for
from windlass.testing.kube import DIES_WITH_US

ANNOTATION = "kwok.x-k8s.io/node"
SELECTOR = f"{ANNOTATION}=fake"
LEASE_SECONDS = 160
"""kwok renews after a quarter of it: as seldom as the node controller (50 s) lets it."""
DELETE = "pod-delete.yaml"
KUBELETS = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-end}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - {key: .status.phase, operator: NotIn, values: [Succeeded, Failed]}
  next:
    statusTemplate: "phase: Failed"
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - {key: .status.phase, operator: In, values: [Succeeded, Failed]}
  next: {delete: true}
"""
"""Pods that are deleted say first that they have ended, as those of kubelets do."""


@dataclass(frozen=True, slots=True)
class Kwok:
    """One kwok, and the fake nodes that it keeps alive."""

    daemon: Daemon
    kubectl: Kubectl

    def add_nodes(self, count: int, prefix: str = "fake") -> list[str]:
        """Make nodes and wait until they are Ready; real pods stay off them by their taint."""
        nodes = [fake_node(f"{prefix}-{number:05}") for number in range(count)]
        names = [str(node["metadata"]["name"]) for node in nodes]
        for some in _slices(nodes, 500):
            self.kubectl("create", "-f", "-", text=json.dumps(_as_list(some)))
        wait_for(lambda: len(self._ready(prefix)) == count, f"{count} fake nodes", within=300)
        return names

    def remove_nodes(self) -> None:
        self.kubectl("delete", "nodes", "-l", SELECTOR, "--wait=false")

    def stop(self) -> None:
        daemons.stop(self.daemon.mark)

    def _ready(self, prefix: str) -> list[str]:
        path = '{range .items[*]}{.metadata.name}{" "}'
        path += '{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}'
        rows = self.kubectl("get", "nodes", "-l", SELECTOR, "-o", f"jsonpath={path}").splitlines()
        return [row for row in rows if row.startswith(f"{prefix}-") and row.endswith(" True")]


def start(
    folder: Path,
    programs: dict[str, Path],
    kubectl: Kubectl,
    lease_seconds: int = LEASE_SECONDS,
    stages: Sequence[Path] = (),
) -> Kwok:
    """`stages` are what happens to nodes and pods; without them what came with kwok."""
    kwok = programs["kwok"]
    configs = [f"--config={stage}" for stage in stages or binaries.kwok_stages(kwok)]
    daemon = Daemon(
        name="kwok",
        argv=(
            *DIES_WITH_US,
            *(str(kwok), f"--kubeconfig={kubectl.kubeconfig}"),
            f"--manage-nodes-with-annotation-selector={SELECTOR}",
            f"--node-lease-duration-seconds={lease_seconds}",
            *configs,
        ),
        mark=folder / "kwok.json",
        log=folder / "kwok.log",
        cgroup_entry=Path("/dev/null"),
    )
    daemon.start().close()
    return Kwok(daemon, kubectl)


def like_kubelets(folder: Path, programs: dict[str, Path]) -> list[Path]:
    """Stages by which pods end as those of kubelets do."""
    own = folder / "kubelets.yaml"
    own.write_text(KUBELETS)
    return [own, *(each for each in binaries.kwok_stages(programs["kwok"]) if each.name != DELETE)]


def fake_node(name: str) -> dict[str, dict[str, object]]:
    room = {"cpu": "64", "memory": "512Gi", "pods": "250"}
    labels = {ANNOTATION: "fake", "kubernetes.io/hostname": name, "type": "kwok"}
    node: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": {ANNOTATION: "fake"}, "labels": labels},
        "spec": {"taints": [{"key": ANNOTATION, "value": "fake", "effect": "NoSchedule"}]},
        "status": {"allocatable": room, "capacity": room},
    }
    return node  # type: ignore[return-value]


def _as_list(items: list[dict[str, dict[str, object]]]) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _slices(
    items: list[dict[str, dict[str, object]]], size: int
) -> Iterator[list[dict[str, dict[str, object]]]]:
    return (items[at : at + size] for at in range(0, len(items), size))
