"""A slurmctld outside, joined by workers, login pods and slurmrestd inside."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from windlass.local.slurm import Slurm
from windlass.testing.operated import Operated, until

KEYS = ("slurm-auth-slurm", "slurm-auth-jwt")
JOINING = """
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {{name: away}}
spec:
  clusterName: {cluster}
  external: true
  externalConfig: {{host: slurm-controller.{namespace}, port: 6817}}
  slurmKeyRef: {{name: slurm-auth-slurm, key: slurm.key}}
  jwtKeyRef: {{name: slurm-auth-jwt, key: jwt.key}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {{name: burst}}
spec:
  controllerRef: {{name: away}}
  replicas: 1
  oversubscribeNode: true
  slurmd:
    resources: {{limits: {{cpu: 300m, memory: 256Mi}}}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: LoginSet
metadata: {{name: door}}
spec:
  controllerRef: {{name: away}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {{name: away}}
spec:
  controllerRef: {{name: away}}
"""


@pytest.fixture
def inside(operator: Slurm, slurm: Operated) -> Iterator[Operated]:
    """Another namespace, with the keys of the cluster that is outside of it."""
    slurm.patch("controller", "slurm", {"spec": {"extraConf": "PartitionName=any Nodes=ALL"}})
    name = f"inside-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", name)
    place = Operated(operator.kubectl, name, "away")
    for key in KEYS:
        data = slurm.get("secret", key)["data"]
        words = [f"--from-literal={entry}=" for entry in data]
        place.kubectl("create", "secret", "generic", key, "-n", name, *words)
        place.patch("secret", key, {"data": data})
    place.apply(JOINING.format(cluster=slurm.setting("ClusterName"), namespace=slurm.namespace))
    yield place
    operator.kubectl("delete", "namespace", name, "--wait=false")


def test_workers_logins_and_rest_join_a_slurmctld_that_is_elsewhere(
    slurm: Operated, inside: Operated
) -> None:
    until(lambda: "burst-0" in slurm.idle(), "the worker has joined", 120)
    inside.wait_condition("controller", "away", "Ready")
    inside.wait_condition("loginset", "door", "Ready")
    inside.wait_condition("restapi", "away", "Ready")

    login = inside.pods("app.kubernetes.io/name=login")[0]["metadata"]["name"]
    said = inside.inside(
        login, "login", "srun", "--partition=any", "--mem=100", "--nodelist=burst-0", "hostname"
    )

    assert said.split() == ["burst-0"]
    assert inside.get("statefulset", "away-controller") is None
