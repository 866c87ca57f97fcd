"""A Slurm with accounting and the bridge beside it, installed once from their charts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass.local.bridge import Bridge
from windlass.local.kubectl import Kubectl
from windlass.local.slurm import Slurm
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged

HOME, PODS = "bridge-home", "bridge-pods"
VALUES = {
    "bridge": {"enabled": True},
    "accounting": {"enabled": True},
    "mariadb": {"enabled": True},
}
POD_GROUPS = Path(__file__).parent / "pod_groups.yaml"


@pytest.fixture(scope="session")
def pod_groups(kubectl: Kubectl) -> None:
    """The kind PodGroup of scheduling.x-k8s.io, with no controller."""
    kubectl("apply", "-f", str(POD_GROUPS))
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(POD_GROUPS))


@pytest.fixture(scope="session")
def bridge(operator: Slurm, pod_groups: None) -> Iterator[Bridge]:
    """Both nodes of the cluster are Slurm's, too, and the namespace of `bridged` is managed."""
    kubectl = operator.kubectl
    slurm = Slurm(kubectl, operator.helm, operator.charts, VALUES, HOME)
    slurm.install()
    kubectl("create", "namespace", PODS)
    installed = Bridge(slurm, namespace=PODS)
    slurm.wait_until_idle(1)
    installed.install()
    names = [node["metadata"]["name"] for node in kubectl.get("nodes")["items"]]
    installed.give(*names)
    yield installed
    operator.helm.uninstall("windlass-bridge", HOME)
    operator.helm.uninstall("slurm", HOME)
    for name in (PODS, HOME):
        kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def bridged(bridge: Bridge) -> Iterator[Bridged]:
    """An empty managed namespace and an empty queue, before and after."""
    found = Bridged(bridge)
    yield found
    found.clear()
    wait_for(lambda: not found.queue(), "the queue is empty", within=60)
