"""The controllers of JobSet, LeaderWorkerSet and PodGroup, as their makers install them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from windlass.local.helm import Helm
from windlass.local.kubectl import Kubectl

NAMESPACE: Final = "workload-controllers"
IMAGES: Final = ("jobset", "lws", "scheduler-plugins")
NO_ROOM: Final = {"requests": {"cpu": "10m", "memory": "32Mi"}}  # two nodes share two cores


@dataclass(frozen=True, slots=True)
class Controller:
    """One of them: its chart beside its program, and what makes it ours."""

    chart: str
    values: Mapping[str, Any]
    crds: str = ""  # where the chart has none


def _image(name: str, tag: str) -> dict[str, str]:
    return {
        "repository": f"localhost/windlass/{name}",
        "tag": tag,
        "pullPolicy": "IfNotPresent",
    }


CONTROLLERS: Final[Mapping[str, Controller]] = {
    "jobset": Controller(
        "charts/jobset",
        {"image": _image("jobset", "0.11.1"), "controller": {"resources": NO_ROOM}},
    ),
    "lws": Controller(
        "charts/lws",
        {"image": {"manager": _image("lws", "0.8.0")}, "resources": NO_ROOM},
    ),
    "scheduler-plugins": Controller(
        "manifests/install/charts/as-a-second-scheduler",
        {
            "controller": {"image": "localhost/windlass/scheduler-plugins:0.33.5"},
            "scheduler": {"replicaCount": 0},  # Slurm schedules; only PodGroups are looked after
        },
        crds="config/crd/bases",
    ),
}


def install(helm: Helm, kubectl: Kubectl, programs: Mapping[str, Path]) -> None:
    """Install all three; the images must be loaded. Returns when they serve."""
    for name, each in CONTROLLERS.items():
        folder = programs[name].parent
        if each.crds:
            kubectl("apply", "--server-side", "-f", str(folder / each.crds))
        helm.install(name, folder / each.chart, NAMESPACE, each.values)
    words = ("rollout", "status", "-n", NAMESPACE, "--timeout=120s")
    for deployment in kubectl.get("deployments", "-n", NAMESPACE)["items"]:
        kubectl(*words, f"deployment/{deployment['metadata']['name']}")


def uninstall(helm: Helm, kubectl: Kubectl) -> None:
    for name in CONTROLLERS:
        helm.uninstall(name, NAMESPACE)
    kubectl("delete", "namespace", NAMESPACE, "--wait=false", "--ignore-not-found")
