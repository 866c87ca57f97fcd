"""Workers without privilege."""

from windlass.testing.operated import Operated

MEEK = """
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: slurm}
spec: {}
---
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: meek}
spec:
  controllerRef: {name: slurm}
  oversubscribeNode: true
  slurmd:
    securityContext: {privileged: false}
    resources: {limits: {cpu: 500m, memory: 256Mi}}
  partition: {enabled: true, config: "Default=YES"}
"""


def test_a_job_runs_on_a_worker_without_privilege(place: Operated) -> None:
    label = "pod-security.kubernetes.io/enforce=baseline"
    place.kubectl("label", "namespace", place.namespace, label)
    place.apply(MEEK)
    place.wait_idle(1)

    assert place.slurm("srun", "--nodelist=meek-0", "hostname").strip() == "meek-0"
