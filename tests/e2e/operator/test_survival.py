"""What a running job does not notice, and what is not lost."""

from functools import partial

import pytest

from windlass.testing.local import LocalCluster
from windlass.testing.operated import Operated, until

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service=power:NoExecute"


def gone(place: Operated, kind: str, name: str) -> bool:
    return place.get(kind, name) is None


def controller_node(slurm: Operated) -> str:
    return str(slurm.get("pod", "slurm-controller-0")["spec"]["nodeName"])


def job_away_from(slurm: Operated, node: str) -> str:
    """A job that runs on a worker of another node."""
    away = next(
        pod["spec"]["hostname"]
        for pod in slurm.pods("app.kubernetes.io/name=slurmd")
        if pod["spec"]["nodeName"] != node
    )
    number = slurm.submit("sleep 600", f"--nodelist={away}", "--ntasks=1")
    slurm.wait_job(number, "RUNNING")
    slurm.wait_saved()
    return number


def test_a_job_runs_on_while_the_slurmctld_pod_is_replaced(slurm: Operated) -> None:
    number = slurm.submit("sleep 600", "--ntasks=1")
    slurm.wait_job(number, "RUNNING")
    old = slurm.get("pod", "slurm-controller-0")["metadata"]["uid"]

    slurm.kubectl("delete", "pod", "slurm-controller-0", "-n", slurm.namespace)

    until(
        lambda: slurm.get("pod", "slurm-controller-0")["metadata"]["uid"] != old,
        "there is another pod",
    )
    slurm.wait_condition("controller", "slurm", "Ready", within=120)
    slurm.wait_job(number, "RUNNING")
    slurm.slurm("scancel", number)
    slurm.wait_job(number, "CANCELLED")
    slurm.wait_idle(2)


@pytest.mark.timeout(600)
def test_a_job_runs_on_when_the_node_of_slurmctld_loses_power(
    cluster: LocalCluster, slurm: Operated
) -> None:
    node = controller_node(slurm)
    number = job_away_from(slurm, node)

    cluster.local("node", "kill", node)
    try:
        # Kubernetes waits for a node that may come back; an administrator who knows says so.
        slurm.kubectl("wait", "--for=condition=Ready=Unknown", f"node/{node}", "--timeout=90s")
        slurm.kubectl("taint", "node", node, OUT_OF_SERVICE)
        until(
            lambda: (
                (slurm.get("pod", "slurm-controller-0") or {}).get("spec", {}).get("nodeName")
                not in (None, node)
            ),
            "slurmctld has moved",
            120,
        )
        until(lambda: slurm.job_state(number) == "RUNNING", "the job is known and runs", 120)
    finally:
        cluster.local("node", "start", node)
        slurm.kubectl("taint", "node", node, f"{OUT_OF_SERVICE}-")
    slurm.slurm("scancel", number)
    slurm.wait_idle(2, within=240)


def test_what_a_controller_owned_goes_with_it_and_its_volume_stays(place: Operated) -> None:
    place.apply(
        """
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: brief}
spec: {}
"""
    )
    place.wait_condition("controller", "brief", "Ready")

    place.kubectl("delete", "controller", "brief", "-n", place.namespace, "--cascade=foreground")

    for kind, name in (
        ("statefulset", "brief-controller"),
        ("configmap", "brief-config"),
        ("service", "brief-controller"),
        ("secret", "brief-auth-slurm"),
    ):
        until(partial(gone, place, kind, name), f"{kind} {name} is gone")
    assert place.get("pvc", "statesave-brief-controller-0") is not None
