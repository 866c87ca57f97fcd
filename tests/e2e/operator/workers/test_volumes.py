"""What a worker has of its own: its host and its volumes."""

import pytest

from tests.e2e.operator.workers.crew import Crew
from windlass.testing.operated import until

pytestmark = pytest.mark.timeout(600)

KEPT = """
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: kept}
spec:
  controllerRef: {name: slurm}
  replicas: 2
  oversubscribeNode: true
  pinToNode: true
  slurmd:
    resources: {limits: {cpu: 500m, memory: 256Mi}}
    volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: 10Mi}}
  partition: {enabled: true}
"""


def claims(crew: Crew) -> set[str]:
    found = crew.kubectl.get("pvc", "-n", crew.namespace)["items"]
    names = {each["metadata"]["name"] for each in found if each["metadata"].get("uid")}
    return {each for each in names if each.startswith("data-kept-")}


def waits_for_a_host(crew: Crew, worker: str, before: dict[str, str]) -> bool:
    pod = crew.get("pod", worker)
    if pod is None or pod["metadata"]["uid"] == before[worker]:
        return False
    conditions = {each["type"]: each for each in pod["status"].get("conditions", [])}
    return bool(conditions.get("PodScheduled", {}).get("status") == "False")


def test_a_worker_comes_back_to_its_host_and_volume_and_claims_go_as_is_said(none: Crew) -> None:
    none.apply(KEPT)
    none.wait_idle(2)
    before, host = none.workers("kept"), none.host_of("kept-0")
    none.inside("kept-0", "slurmd", "touch", "/data/mine")
    try:
        none.kubectl("cordon", host)
        none.kubectl("delete", "pod", "kept-0", "-n", none.namespace)
        until(lambda: waits_for_a_host(none, "kept-0", before), "it does not go elsewhere", 60)
    finally:
        none.kubectl("uncordon", host)
    none.wait_idle(2)
    assert none.host_of("kept-0") == host
    assert none.inside("kept-0", "slurmd", "ls", "/data").split() == ["mine"]

    none.scale(1, of="kept")
    until(lambda: set(none.workers("kept")) == {"kept-0"}, "one is scaled away", 60)
    assert claims(none) == {"data-kept-0", "data-kept-1"}
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    none.change("kept", persistentVolumeClaimRetentionPolicy=policy)
    until(lambda: claims(none) == {"data-kept-0"}, "its claim goes a while later", 90)

    none.kubectl("delete", "nodeset", "kept", "-n", none.namespace, "--timeout=120s")
    until(lambda: not claims(none), "the other goes with the set", 60)
