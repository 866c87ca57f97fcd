"""`windlass bridge run` with the chart's configuration and rights, between a real API server and a
real Slurm with the chart's partition."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.helm import Body, Helm
from tests.contract.test_charts_on_a_server import Release
from windlass.bridge import words
from windlass.local.kubectl import Kubectl
from windlass.local.pki import Subject
from windlass.local.waiting import wait_for
from windlass.testing.kube import RealKube
from windlass.testing.ports import free_ports
from windlass.testing.slurm import RealSlurm

HOME, TEAM = "process-home", "process-team"
BRIDGE = "windlass-bridge"
USER = f"system:serviceaccount:{HOME}:{BRIDGE}"
NODES = ("process-1", "process-2")
ENDED = '{"status": {"phase": "Succeeded"}}'
VALUES: Body = {"admission": {"enabled": False}, "schedulerConfig": {"taintNodes": True}}


@pytest.fixture(scope="module")
def slurm(helm: Helm, slurm_with: Callable[[str], RealSlurm]) -> RealSlurm:
    values = {"bridge": {"enabled": True}, "starter": {"enabled": False}}
    lines = helm.template("slurm", values).one("Controller")["spec"]["extraConf"]
    return slurm_with(f"{lines}\n")


@pytest.fixture(scope="module")
def kubectl(slurm_kinds: Kubectl) -> Kubectl:
    for name in (HOME, TEAM):
        slurm_kinds("create", "namespace", name)
        slurm_kinds("create", "serviceaccount", "default", f"--namespace={name}")
    for number, name in enumerate(NODES, 1):
        made = node(name, f"10.9.0.{number}")
        slurm_kinds("create", "-f", "-", text=json.dumps(made))
        status = json.dumps({"status": made["status"]})
        slurm_kinds("patch", "node", name, "--subresource=status", "--type=merge", "-p", status)
    return slurm_kinds


def node(name: str, address: str) -> Body:
    partitions = {words.EXTERNAL_NODE_PARTITIONS: words.PARTITION}
    labels = {words.EXTERNAL_NODE: "true"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": partitions},
        "status": {
            "allocatable": {"cpu": "4", "memory": "4000Mi", "pods": "10"},
            "addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


@pytest.fixture(scope="module")
def bridge(
    helm: Helm,
    kube: RealKube,
    kubectl: Kubectl,
    slurm: RealSlurm,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Path]:
    """The process, with no rights but the chart's; its log."""
    folder = tmp_path_factory.mktemp("bridge")
    release = Release(helm, kube, BRIDGE, BRIDGE, HOME)
    release.upgrade(VALUES)
    data = kubectl.get("configmap", BRIDGE, f"--namespace={HOME}")["data"]
    (folder / "config.yaml").write_text(data["config.yaml"])
    (folder / "token").write_text(slurm.token())
    kube.authority.ensure([Subject(USER, USER)])
    access = kube.authority.write_kubeconfig(USER, kube.server, "contract")
    log = folder / "log"
    flags = {
        "config": folder / "config.yaml",
        "token-file": folder / "token",
        "kubeconfig": access,
        "slurm": slurm.url,
        "health-port": free_ports(1)[0],
        "leader-elect-namespace": HOME,
        "lease-name": BRIDGE,
    }
    program = Path(sys.executable).parent / "windlass"
    with log.open("wb") as out:
        running = subprocess.Popen(
            [program, "bridge", "run", *(f"--{name}={value}" for name, value in flags.items())],
            stderr=out,
        )
    yield log
    running.terminate()
    running.wait(timeout=20)
    release.uninstall()
    kubectl("delete", "node", *NODES)


def pod(name: str, **metadata: object) -> Body:
    resources = {"requests": {"cpu": "1", "memory": "64Mi"}}
    spec = {
        "schedulerName": words.SCHEDULER,
        "containers": [{"name": "c", "image": "i", "resources": resources}],
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"key": words.MANAGED_NODE, "operator": "Exists"}],  # else by the webhook
    }
    place = {"name": name, "namespace": TEAM, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": place, "spec": spec}


def test_it_needs_no_more_rights_than_the_chart_gives(
    bridge: Path, kubectl: Kubectl, slurm: RealSlurm
) -> None:
    """Nodes, a pod that is bound, its end, the taint and the events: none of it is forbidden."""
    notes = {f"{words.JOB_PREFIX}job-name": "first"}
    kubectl("create", "-f", "-", text=json.dumps(pod("first", annotations=notes)))

    def bound() -> Body | None:
        found = kubectl.get("pod", "first", f"--namespace={TEAM}")
        return dict(found) if found["spec"].get("nodeName") else None

    found = wait_for(bound, f"the pod is bound; see {bridge}", within=60)
    number = found["metadata"]["labels"][words.JOB_ID]
    job = slurm.scontrol("show", "job", number)
    assert "JobName=first" in job
    assert f"Partition={words.PARTITION}" in job
    assert found["spec"]["nodeName"] in NODES

    there = ("pod", "first", f"--namespace={TEAM}")

    def held() -> bool:
        return words.FINALIZER in kubectl.get(*there)["metadata"].get("finalizers", ())

    wait_for(held, f"it is held; see {bridge}", within=20)
    kubectl("patch", *there, "--subresource=status", "--type=merge", f"--patch={ENDED}")
    wait_for(lambda: "CANCELLED" in slurm.scontrol("show", "job", number), "it ends", within=30)
    kubectl("delete", *there, "--timeout=30s")
    taints = kubectl.get("node", NODES[0])["spec"]["taints"]
    assert words.MANAGED_NODE in {each["key"] for each in taints}
    wait_for(lambda: "forbidden" in bridge.read_text() or holds(kubectl), "it leads", within=30)
    assert "forbidden" not in bridge.read_text().lower()


def holds(kubectl: Kubectl) -> bool:
    lease = kubectl.get("lease", BRIDGE, f"--namespace={HOME}")
    return bool(lease and lease["spec"].get("holderIdentity"))
