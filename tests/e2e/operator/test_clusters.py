"""Two Slurm clusters beside each other, in one namespace and in two."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from windlass.local.slurm import Slurm
from windlass.testing.operated import Operated

CLUSTER = """
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {{name: {name}}}
spec: {{}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {{name: {name}-w}}
spec:
  controllerRef: {{name: {name}}}
  replicas: 1
  oversubscribeNode: true
  slurmd:
    resources: {{limits: {{cpu: 200m, memory: 256Mi}}}}
  partition: {{enabled: true, config: "Default=YES"}}
"""


@pytest.fixture(scope="module")
def three(operator: Slurm) -> Iterator[list[Operated]]:
    """Two in one namespace, and a third of the same name as the first in another."""
    here, there = f"here-{uuid4().hex[:6]}", f"there-{uuid4().hex[:6]}"
    for namespace in (here, there):
        operator.kubectl("create", "namespace", namespace)
    clusters = [
        Operated(operator.kubectl, here, "red"),
        Operated(operator.kubectl, here, "blue"),
        Operated(operator.kubectl, there, "red"),
    ]
    for each in clusters:
        each.apply(CLUSTER.format(name=each.name))
    for each in clusters:
        each.wait_idle(1)
    yield clusters
    for namespace in (here, there):
        operator.kubectl("delete", "namespace", namespace, "--wait=false")


def test_each_cluster_has_its_own_name_workers_and_jobs(three: list[Operated]) -> None:
    names = {each.setting("ClusterName") for each in three}
    assert names == {f"{each.namespace}_{each.name}" for each in three}
    for each in three:
        assert each.idle() == {f"{each.name}-w-0"}
        assert each.slurm("srun", "hostname").split() == [f"{each.name}-w-0"]


def test_each_cluster_has_keys_of_its_own(three: list[Operated]) -> None:
    keys = {each.get("secret", f"{each.name}-auth-slurm")["data"]["slurm.key"] for each in three}
    assert len(keys) == 3


def test_one_cluster_goes_and_the_other_of_its_namespace_stays(three: list[Operated]) -> None:
    red, blue = three[:2]
    number = blue.submit("sleep 600", "--ntasks=1")
    blue.wait_job(number, "RUNNING")

    red.kubectl("delete", "nodeset/red-w", "controller/red", "-n", red.namespace)

    assert blue.job_state(number) == "RUNNING"
    assert blue.get("service", "slurm-workers-blue") is not None
    blue.slurm("scancel", number)
