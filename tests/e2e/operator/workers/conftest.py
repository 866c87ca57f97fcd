"""One Slurm for all stories of workers."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.e2e.operator.workers.crew import WORKERS, Crew
from windlass.local.slurm import Slurm
from windlass.testing.operated import until

CREW = """
apiVersion: v1
kind: ConfigMap
metadata: {name: places}
data:
  topology.yaml: |
    - topology: default
      cluster_default: true
      flat: true
    - topology: halls
      cluster_default: false
      tree:
        switches:
          - switch: root
            children: left
          - switch: left
            nodes: none
    - topology: racks
      cluster_default: false
      block:
        block_sizes: [4]
        blocks: [{block: b1}, {block: b2}]
---
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: slurm}
spec:
  configFileRefs: [{name: places}]
---
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: slurm}
spec:
  controllerRef: {name: slurm}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: worker}
spec:
  controllerRef: {name: slurm}
  replicas: 0
  oversubscribeNode: true
  slurmd:
    resources: {limits: {cpu: 500m, memory: 256Mi}}
  template:
    spec:
      topologySpreadConstraints:
        - topologyKey: kubernetes.io/hostname
          maxSkew: 1
          whenUnsatisfiable: DoNotSchedule
          nodeTaintsPolicy: Honor
          labelSelector: {matchLabels: {app.kubernetes.io/instance: worker}}
  partition: {enabled: true, config: "Default=YES"}
"""


@pytest.fixture(scope="session")
def crew(operator: Slurm) -> Iterator[Crew]:
    """A Slurm with slurmrestd and no worker yet. Workers may share a host, and are spread over
    those that take any."""
    name = f"crew-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", name)
    running = Crew(operator.kubectl, name)
    running.apply(CREW)
    running.wait_condition("controller", "slurm", "Ready")
    running.wait_condition("restapi", "slurm", "Ready")
    yield running
    operator.kubectl("delete", "namespace", name, "--wait=false")


def empty(crew: Crew) -> None:
    crew.scale(0)
    labels = f"{WORKERS},app.kubernetes.io/instance=worker"
    until(lambda: not crew.pods(labels), "all have gone", 120)


@pytest.fixture
def none(crew: Crew) -> Iterator[Crew]:
    """No worker before a story, and no job after it."""
    empty(crew)
    yield crew
    crew.slurm("scancel", "--me")


@pytest.fixture
def two(crew: Crew) -> Iterator[Crew]:
    """Two idle and ready workers before each story, worker-0 and worker-1, and no job after it."""
    if set(crew.workers()) != {"worker-0", "worker-1"}:
        empty(crew)
    crew.scale(2)
    until(lambda: set(crew.workers()) == {"worker-0", "worker-1"}, "there are two workers", 120)
    crew.wait_idle(2)
    until(lambda: crew.available() == 2, "both are ready", 60)
    yield crew
    crew.slurm("scancel", "--me")
