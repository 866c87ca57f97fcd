"""The operator on the cluster, installed once from its charts, and a Slurm for the stories."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from windlass.local.helm import Helm
from windlass.local.layout import sources
from windlass.local.slurm import IMAGES, OPERATOR_NAMESPACE, Slurm
from windlass.testing.local import LocalCluster
from windlass.testing.operated import Operated

UNHEALTHY = "GpuBroken"
"""The node condition that drains workers."""
CONTROLLER = """
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: slurm}
spec: {}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: worker}
spec:
  controllerRef: {name: slurm}
  replicas: 2
  slurmd:
    resources: {limits: {cpu: 500m, memory: 512Mi}}
  partition: {enabled: true, config: "Default=YES"}
"""


@pytest.fixture(scope="session")
def helm(cluster: LocalCluster, programs: dict[str, Path]) -> Helm:
    return Helm(programs["helm"], cluster.folder.kubeconfig)


@pytest.fixture(scope="session")
def operator(cluster: LocalCluster, helm: Helm) -> Iterator[Slurm]:
    """CRDs and operator from their charts, in a namespace that enforces `restricted`."""
    for image in IMAGES:
        cluster.local("image", "load", image)
    installed = Slurm(cluster.kubectl, helm, sources("charts"))
    cluster.kubectl("create", "namespace", OPERATOR_NAMESPACE)
    cluster.kubectl(
        "label", "namespace", OPERATOR_NAMESPACE, "pod-security.kubernetes.io/enforce=restricted"
    )
    installed.install_operator({"drainNodeConditions": [UNHEALTHY]})
    for deployment in ("windlass-operator", "windlass-operator-webhook"):
        cluster.kubectl(
            *("rollout", "status", f"deployment/{deployment}"),
            *("-n", OPERATOR_NAMESPACE, "--timeout=120s"),
        )
    yield installed
    helm.uninstall("windlass-operator", OPERATOR_NAMESPACE)


@pytest.fixture
def place(operator: Slurm) -> Iterator[Operated]:
    """A namespace of the test's own, gone afterwards with all that is in it."""
    name = f"slurm-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", name)
    yield Operated(operator.kubectl, name)
    operator.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def slurm(operator: Slurm) -> Iterator[Operated]:
    """A small Slurm of the module's own: a Controller and two workers."""
    name = f"slurm-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", name)
    running = Operated(operator.kubectl, name)
    running.apply(CONTROLLER)
    running.wait_idle(2)
    yield running
    operator.kubectl("delete", "namespace", name, "--wait=false")
