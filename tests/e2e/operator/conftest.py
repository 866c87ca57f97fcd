"""A Slurm for the stories of the operator."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from windlass.local.slurm import Slurm
from windlass.testing.operated import Operated

WORKERS = """
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
CONTROLLER = f"""
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {{name: slurm}}
spec: {{}}
---{WORKERS}"""


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
