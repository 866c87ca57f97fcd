"""Workers with jobs in them: scaled, updated, drained and deleted, and no job is lost."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.conftest import UNHEALTHY
from windlass.local.slurm import OPERATOR_NAMESPACE, Slurm
from windlass.testing.operated import Operated, until

CREW = """
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: slurm}
spec: {}
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
  replicas: 2
  oversubscribeNode: true
  slurmd:
    resources: {limits: {cpu: 500m, memory: 256Mi}}
  partition: {enabled: true, config: "Default=YES"}
"""


@pytest.fixture(scope="module")
def crew(operator: Slurm) -> Iterator[Operated]:
    """A Slurm with slurmrestd, whose workers may share a node."""
    name = f"crew-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", name)
    running = Operated(operator.kubectl, name)
    running.apply(CREW)
    running.wait_idle(2)
    running.wait_condition("restapi", "slurm", "Ready")
    running.wait_condition("nodeset", "worker", "Registered")
    yield running
    operator.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
def two(crew: Operated) -> Iterator[Operated]:
    """Two idle workers before each story, worker-0 and worker-1, and no job after it."""
    if set(uids(crew)) != {"worker-0", "worker-1"}:
        scale(crew, 0)
        until(lambda: not crew.pods("app.kubernetes.io/name=slurmd"), "all have gone", 120)
    scale(crew, 2)
    until(lambda: set(uids(crew)) == {"worker-0", "worker-1"}, "there are two workers", 120)
    crew.wait_idle(2)
    yield crew
    crew.slurm("scancel", "--me")


def scale(crew: Operated, replicas: int) -> None:
    words = ("scale", "nodeset/worker", f"--replicas={replicas}", "-n", crew.namespace)
    crew.kubectl(*words)


def uids(crew: Operated) -> dict[str, str]:
    """By their names, the workers that are not on their way out."""
    return {
        pod["metadata"]["name"]: pod["metadata"]["uid"]
        for pod in crew.pods("app.kubernetes.io/name=slurmd")
        if "deletionTimestamp" not in pod["metadata"]
    }


def long_job(crew: Operated, worker: str, *words: str) -> str:
    number = crew.submit("sleep 900", f"--nodelist={worker}", "--ntasks=1", *words)
    crew.wait_job(number, "RUNNING")
    return number


def node(crew: Operated, worker: str) -> dict[str, Any]:
    """What Slurm says of a worker; empty while it does not know or answer."""
    said = crew.tried("scontrol", "show", "node", worker, "--json")
    nodes = json.loads(said)["nodes"] if said else []
    return dict(nodes[0]) if nodes else {}


def drained(crew: Operated, worker: str) -> bool:
    return "DRAIN" in node(crew, worker).get("state", [])


def waits_for(crew: Operated) -> str:
    found = crew.condition("nodeset", "worker", "Progressing")
    return str(found["message"]) if found else ""


def restart_operator(crew: Operated) -> None:
    labels = "app.kubernetes.io/component=operator"
    crew.kubectl("delete", "pod", "-n", OPERATOR_NAMESPACE, "-l", labels, "--grace-period=0")


# --- scaling ------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_the_idle_go_the_busy_stay_and_slurm_forgets_the_gone(two: Operated) -> None:
    scale(two, 4)
    two.wait_idle(4)
    number = long_job(two, "worker-3")

    scale(two, 1)

    until(lambda: set(uids(two)) == {"worker-3"}, "only the busy one is left", 120)
    assert two.job_state(number) == "RUNNING"
    until(lambda: node(two, "worker-0") == {}, "Slurm has forgotten the others", 60)


@pytest.mark.timeout(600)
def test_a_scale_in_that_is_cancelled_gives_back_what_it_drained(two: Operated) -> None:
    number = long_job(two, "worker-0")
    before = uids(two)

    scale(two, 0)
    until(lambda: drained(two, "worker-0"), "the busy worker drains", 60)
    until(lambda: "worker-0 runs 1 job" in waits_for(two), "it is said for whom we wait", 30)
    until(lambda: set(uids(two)) == {"worker-0"}, "the idle one goes", 60)
    scale(two, 2)

    until(lambda: node(two, "worker-0") and not drained(two, "worker-0"), "it is given back", 60)
    two.wait_idle(1)
    assert two.job_state(number) == "RUNNING"
    assert uids(two)["worker-0"] == before["worker-0"]


@pytest.mark.timeout(600)
def test_a_scale_in_survives_the_restart_of_operator_and_slurmctld(two: Operated) -> None:
    number = long_job(two, "worker-1")
    scale(two, 0)
    until(lambda: drained(two, "worker-1"), "the busy worker drains", 60)

    restart_operator(two)
    two.kubectl("delete", "pod", "slurm-controller-0", "-n", two.namespace)

    two.wait_condition("controller", "slurm", "Ready", within=120)
    two.wait_job(number, "RUNNING")
    assert "worker-1" in uids(two)
    two.slurm("scancel", number)
    until(lambda: not uids(two), "the last one goes when its job has ended", 120)


# --- updates ------------------------------------------------------------------------------------


@pytest.mark.timeout(600)
def test_a_new_template_takes_the_idle_at_once_and_the_busy_after_its_job(two: Operated) -> None:
    number = long_job(two, "worker-0")
    before = uids(two)

    change = {"slurmd": {"env": [{"name": "WAVE", "value": uuid4().hex}]}}
    two.patch("nodeset", "worker", {"spec": change})

    until(lambda: uids(two).get("worker-1") not in (None, before["worker-1"]), "one is new", 120)
    two.wait_idle(1)
    restart_operator(two)
    until(lambda: drained(two, "worker-0"), "the busy one drains", 60)
    assert two.job_state(number) == "RUNNING"
    assert uids(two)["worker-0"] == before["worker-0"]

    two.slurm("scancel", number)

    until(lambda: uids(two).get("worker-0") not in (None, before["worker-0"]), "so is the other")
    until(lambda: two.get("nodeset", "worker")["status"]["updatedReplicas"] == 2, "all are new")
    two.wait_idle(2)


# --- the hosts ----------------------------------------------------------------------------------


def host_of(crew: Operated, worker: str) -> str:
    return str(crew.get("pod", worker)["spec"]["nodeName"])


@pytest.mark.timeout(600)
def test_kubectl_drain_waits_for_jobs_and_ends_by_itself(two: Operated) -> None:
    number = long_job(two, "worker-0")
    host = host_of(two, "worker-0")
    drain = (
        *("drain", host, "--ignore-daemonsets", "--delete-emptydir-data"),
        "--pod-selector=app.kubernetes.io/name=slurmd",
    )
    command = two.kubectl.command(*drain, "--timeout=240s")
    try:
        with subprocess.Popen(command) as draining:
            until(lambda: drained(two, "worker-0"), "Slurm drains it, too", 60)
            assert f"Node ({host}) was cordoned" in node(two, "worker-0")["reason"]
            assert two.job_state(number) == "RUNNING"
            assert draining.poll() is None
            two.slurm("scancel", number)
            until(lambda: draining.poll() is not None, "kubectl drain has ended", 200)
            assert draining.returncode == 0
    finally:
        two.kubectl("uncordon", host)
    two.wait_idle(2)


@pytest.mark.timeout(600)
def test_an_unhealthy_host_drains_its_workers_until_it_is_well(two: Operated) -> None:
    host = host_of(two, "worker-0")
    try:
        mark(two, host, "True")
        until(lambda: drained(two, "worker-0"), "it is drained", 30)
        assert "(Xid: GPU 3 fell off the bus)" in node(two, "worker-0")["reason"]
    finally:
        mark(two, host, "False")
    two.wait_idle(2)


def mark(crew: Operated, host: str, status: str) -> None:
    """As a node problem detector does."""
    condition = {
        "type": UNHEALTHY,
        "status": status,
        "reason": "Xid",
        "message": "GPU 3 fell off the bus",
    }
    patch = json.dumps({"status": {"conditions": [condition]}})
    crew.kubectl("patch", "node", host, "--subresource=status", "--type=strategic", "-p", patch)


@pytest.mark.timeout(600)
def test_an_administrators_drain_outlives_cordons_and_scaling(two: Operated) -> None:
    host = host_of(two, "worker-0")
    two.slurm("scontrol", "update", "nodename=worker-0", "state=drain", "reason=bad fan")
    until(lambda: drained(two, "worker-0"), "it is drained by hand", 30)

    two.kubectl("cordon", host)
    others = set(uids(two)) - {"worker-0"}
    same = {each for each in others if host_of(two, each) == host}
    until(lambda: all(drained(two, each) for each in same), "others there are drained by us", 30)
    two.kubectl("uncordon", host)
    until(lambda: not any(drained(two, each) for each in same), "and given back", 30)

    assert drained(two, "worker-0")
    assert node(two, "worker-0")["reason"] == "bad fan"
    two.slurm("scontrol", "update", "nodename=worker-0", "state=resume")


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


@pytest.mark.timeout(600)
def test_one_worker_on_every_node_follows_their_labels(two: Operated) -> None:
    host = host_of(two, "worker-0")
    two.apply(SPREAD)
    two.kubectl("label", "node", host, "example.com/pool=spread")
    try:
        until(lambda: host in two.nodes("idle"), "it has a worker of its name", 90)
        number = long_job(two, host, "--partition=spread")
    finally:
        two.kubectl("label", "node", host, "example.com/pool-")

    until(lambda: drained(two, host), "the worker drains", 60)
    assert two.job_state(number) == "RUNNING"
    two.slurm("scancel", number)
    until(lambda: not two.pods("app.kubernetes.io/instance=spread"), "and goes", 120)
    two.kubectl("delete", "nodeset", "spread", "-n", two.namespace, "--timeout=60s")


# --- the end ------------------------------------------------------------------------------------

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
  partition: {enabled: true}
"""


@pytest.mark.timeout(600)
def test_a_node_set_whose_partition_has_jobs_is_deleted_when_they_have_ended(
    two: Operated,
) -> None:
    two.apply(SECOND)
    two.wait_idle(3)
    running = two.submit("sleep 900", "--partition=second")
    two.wait_job(running, "RUNNING")
    waiting = two.submit("sleep 900", "--partition=second")

    two.kubectl("delete", "nodeset", "second", "-n", two.namespace, "--wait=false")

    until(lambda: drained(two, "second-0"), "its worker drains", 60)
    assert two.job_state(running) == "RUNNING"
    two.slurm("scancel", waiting, running)
    until(lambda: two.get("nodeset", "second") is None, "the set is gone", 120)
    until(lambda: "second" not in two.slurm("sinfo", "--noheader", "--format=%R"), "its partition")
    two.wait_condition("controller", "slurm", "Ready")


# --- without privilege --------------------------------------------------------------------------

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
