"""Kubernetes nodes that are cordoned, drained, ill or labelled, and the workers on them."""

import json
import subprocess

import pytest

from tests.e2e.conftest import UNHEALTHY
from tests.e2e.operator.workers.crew import Crew
from windlass.testing.operated import until

pytestmark = pytest.mark.timeout(600)

SPREAD = """
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: spread}
spec:
  controllerRef: {name: slurm}
  scalingMode: DaemonSet
  oversubscribeNode: true
  slurmd:
    resources: {limits: {cpu: 500m, memory: 256Mi}}
  template:
    spec:
      nodeSelector: {example.com/pool: spread}
  partition: {enabled: true}
"""


def test_kubectl_drain_waits_for_jobs_and_ends_by_itself(two: Crew) -> None:
    number = two.start("worker-0")
    host = two.host_of("worker-0")
    drain = (
        *("drain", host, "--ignore-daemonsets", "--delete-emptydir-data"),
        "--pod-selector=app.kubernetes.io/name=slurmd",
    )
    command = two.kubectl.command(*drain, "--timeout=240s")
    try:
        with subprocess.Popen(command) as draining:
            until(lambda: two.drained("worker-0"), "Slurm drains it, too", 60)
            assert f"Node ({host}) was cordoned" in two.node("worker-0")["reason"]
            two.kill_both()
            two.wait_job(number, "RUNNING")
            assert two.drained("worker-0")
            assert draining.poll() is None
            two.finish(number, "worker-0")
            until(lambda: draining.poll() is not None, "kubectl drain has ended", 200)
            assert draining.returncode == 0
    finally:
        two.kubectl("uncordon", host)
    two.wait_idle(2)


def test_an_unhealthy_host_drains_its_workers_until_it_is_well(two: Crew) -> None:
    number = two.start("worker-0")
    before = two.workers()
    host = two.host_of("worker-0")
    try:
        mark(two, host, "True")
        until(lambda: two.drained("worker-0"), "it is drained", 30)
        assert "(Xid: GPU 3 fell off the bus)" in two.node("worker-0")["reason"]
        two.kill_both()
        two.wait_job(number, "RUNNING")
        assert two.drained("worker-0")
    finally:
        mark(two, host, "False")
    until(lambda: two.given_back("worker-0"), "it is given back", 60)
    assert two.workers()["worker-0"] == before["worker-0"]
    two.finish(number, "worker-0")
    two.wait_idle(2)


def mark(crew: Crew, host: str, status: str) -> None:
    """As a node problem detector does."""
    condition = {
        "type": UNHEALTHY,
        "status": status,
        "reason": "Xid",
        "message": "GPU 3 fell off the bus",
    }
    patch = json.dumps({"status": {"conditions": [condition]}})
    crew.kubectl("patch", "node", host, "--subresource=status", "--type=strategic", "-p", patch)


def test_an_administrators_drain_outlives_cordons_and_scaling(two: Crew) -> None:
    host = two.host_of("worker-0")
    two.slurm("scontrol", "update", "nodename=worker-0", "state=drain", "reason=bad fan")
    until(lambda: two.drained("worker-0"), "it is drained by hand", 30)

    two.kubectl("cordon", host)
    others = set(two.workers()) - {"worker-0"}
    same = {each for each in others if two.host_of(each) == host}
    until(lambda: all(two.drained(each) for each in same), "others there are drained by us", 30)
    two.kubectl("uncordon", host)
    until(lambda: not any(two.drained(each) for each in same), "and given back", 30)

    assert two.drained("worker-0")
    assert two.node("worker-0")["reason"] == "bad fan"
    two.slurm("scontrol", "update", "nodename=worker-0", "state=resume")


def test_one_worker_on_every_node_follows_their_labels(two: Crew) -> None:
    host = two.host_of("worker-0")
    two.apply(SPREAD)
    two.kubectl("label", "node", host, "example.com/pool=spread")
    try:
        until(lambda: host in two.nodes("idle"), "it has a worker of its name", 90)
        number = two.start(host, "--partition=spread")
        (pod,) = two.workers("spread")
    finally:
        two.kubectl("label", "node", host, "example.com/pool-")

    until(lambda: two.drained(host), "the worker drains", 60)
    assert two.job_state(number) == "RUNNING"
    two.finish(number, pod)
    until(lambda: not two.workers("spread"), "and goes", 120)
    two.kubectl("delete", "nodeset", "spread", "-n", two.namespace, "--timeout=60s")
