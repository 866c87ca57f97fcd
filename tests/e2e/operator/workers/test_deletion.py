"""The end of a NodeSet."""

import pytest

from tests.e2e.operator.workers.crew import UNTIL_TOLD, Crew
from windlass.testing.operated import until

pytestmark = pytest.mark.timeout(600)

SECOND = """
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: second}
spec:
  controllerRef: {name: slurm}
  replicas: 1
  oversubscribeNode: true
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


def test_a_node_set_whose_partition_has_jobs_is_deleted_when_they_have_ended(two: Crew) -> None:
    two.apply(SECOND)
    two.wait_idle(3)
    running = two.start("second-0", "--partition=second")
    waiting = two.submit(UNTIL_TOLD, "--partition=second")

    two.kubectl("delete", "nodeset", "second", "-n", two.namespace, "--wait=false")

    until(lambda: two.drained("second-0"), "its worker drains", 60)
    two.kill_both()
    two.wait_job(running, "RUNNING")
    assert "second-0" in two.workers("second")
    two.finish(running, "second-0")
    until(lambda: not two.workers("second"), "its worker goes", 60)
    assert two.job_state(waiting) == "PENDING"
    assert two.get("nodeset", "second") is not None
    two.slurm("scancel", waiting)
    until(lambda: two.get("nodeset", "second") is None, "the set is gone", 120)
    until(lambda: "second" not in two.slurm("sinfo", "--noheader", "--format=%R"), "its partition")
    two.wait_condition("controller", "slurm", "Ready")
    assert two.get("pvc", "data-second-0") is not None
