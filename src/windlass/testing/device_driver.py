"""The Kubernetes project's example of a driver of devices, as its makers install it.

Its GPUs are not there, but all else is: kubelets have it prepare claims, and containers get what it
says of their devices.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from windlass.local.helm import Helm
from windlass.local.kubectl import Kubectl

NAME: Final = "dra-example-driver"
IMAGE: Final = NAME
NAMESPACE: Final = "device-driver"
CHART: Final = "deployments/helm/dra-example-driver"
CLASS: Final = "gpu.example.com"
EACH: Final = 2
"""Devices of a node."""
VALUES: Final[Mapping[str, Any]] = {
    "image": {"repository": f"localhost/windlass/{IMAGE}", "tag": "0.4.0"},
    "kubeletPlugin": {
        "numDevices": EACH,
        "containers": {"plugin": {"securityContext": {"privileged": False}}},
    },
}


def install(helm: Helm, kubectl: Kubectl, programs: Mapping[str, Path]) -> None:
    """Install it; the image must be loaded. Returns when it runs on every node."""
    helm.install(NAME, programs[NAME].parent / CHART, NAMESPACE, VALUES)
    daemon = f"daemonset/{NAME}-kubeletplugin"
    kubectl("rollout", "status", daemon, "-n", NAMESPACE, "--timeout=120s")


def uninstall(helm: Helm, kubectl: Kubectl) -> None:
    helm.uninstall(NAME, NAMESPACE)
    kubectl("delete", "namespace", NAMESPACE, "--wait=false", "--ignore-not-found")
