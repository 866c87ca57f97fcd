"""`windlass bridge run` as a process: a real API server, a real slurmctld, fake nodes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from windlass.bridge import words
from windlass.local import binaries
from windlass.local.kubectl import Kubectl
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.testing import kwok
from windlass.testing.kube import DIES_WITH_US, RealKube
from windlass.testing.kwok import ANNOTATION, Kwok, fake_node
from windlass.testing.ports import free_ports
from windlass.testing.slurm import RealSlurm

WINDLASS = Path(sys.executable).with_name("windlass")
NAMESPACE = "bridged"
NODES = ("br-0", "br-1", "br-2")
CPUS = 4
WITHIN = 60.0
CONFIG = "partition: all\nmcsLabel: ''\nschedulerName: bridged\n"
GROUPS = "podgroups.scheduling.x-k8s.io"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": GROUPS,
        "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
    },
    "spec": {
        "group": "scheduling.x-k8s.io",
        "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def node(name: str, number: int) -> dict[str, Any]:
    made: dict[str, Any] = fake_node(name)
    made["metadata"]["labels"][words.EXTERNAL_NODE] = ""
    room = {"cpu": str(CPUS), "memory": "4000Mi", "pods": "50"}
    addresses = {"InternalIP": f"10.9.0.{number + 1}", "Hostname": name}
    listed = [{"type": type_, "address": address} for type_, address in addresses.items()]
    made["status"] = {"allocatable": room, "capacity": room, "addresses": listed}
    return made


def pod(name: str, cpus: int = 1, gang: str = "") -> dict[str, Any]:
    limits = {"cpu": str(cpus), "memory": "100Mi"}
    labels = {words.POD_GROUP: gang} if gang else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "schedulerName": "bridged",
            "tolerations": [{"key": ANNOTATION, "operator": "Exists"}],
            "containers": [{"name": "c", "image": "x", "resources": {"limits": limits}}],
        },
    }


def group(name: str, least: int) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"minMember": least},
    }


@dataclass(frozen=True, slots=True)
class SlurmJob:
    number: int
    name: str
    state: str
    nodes: str


@dataclass
class Stage:
    """Both systems, and the bridge between them while it runs."""

    kubectl: Kubectl
    slurm: RealSlurm
    folder: Path
    bridge: subprocess.Popen[bytes] | None = field(default=None, init=False)

    # --- the process -------------------------------------------------------------------------

    def start(self) -> None:
        """Under one name: who was killed takes up its own lease."""
        (self.folder / "config.yaml").write_text(CONFIG)
        argv = [
            *DIES_WITH_US,
            *(str(WINDLASS), "bridge", "run", f"--config={self.folder / 'config.yaml'}"),
            *(f"--kubeconfig={self.kubectl.kubeconfig}", f"--slurm={self.slurm.url}"),
            *(f"--jwt-key-file={self.slurm.jwt_key}", "--user=root"),
            *(f"--leader-elect-namespace={NAMESPACE}", f"--health-port={free_ports(1)[0]}"),
            "--log-format=text",
        ]
        with (self.folder / "bridge.log").open("ab") as log:
            environment = {**os.environ, "POD_NAME": "bridge-0"}
            self.bridge = subprocess.Popen(argv, env=environment, stdout=log, stderr=log)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        assert self._end(signal.SIGTERM) == 0

    def _end(self, how: signal.Signals) -> int:
        assert self.bridge is not None
        assert self.bridge.poll() is None, "the bridge ended by itself"
        self.bridge.send_signal(how)
        ended = self.bridge.wait(30)
        self.bridge = None
        return ended

    # --- what there is -----------------------------------------------------------------------

    def create(self, *objects: dict[str, Any]) -> None:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        self.kubectl("create", "-f", "-", text=text)

    def pods(self) -> dict[str, Any]:
        found = self.kubectl.get("pods", f"--namespace={NAMESPACE}")
        return {each["metadata"]["name"]: each for each in (found or {"items": ()})["items"]}

    def hosts(self, *names: str) -> list[str]:
        """Where these are bound."""
        found = self.pods()
        return [found[name]["spec"].get("nodeName", "") for name in names if name in found]

    def jobs(self, name: str = "") -> list[SlurmJob]:
        """Also those that have ended a moment ago."""
        rows = self.slurm.inside("squeue", "-h", "-t", "all", "-o", "%i|%j|%T|%N").split()
        found = (row.split("|") for row in rows)
        every = [SlurmJob(int(number), *rest) for number, *rest in found]
        return [job for job in every if name in ("", job.name)]

    def job(self, name: str) -> SlurmJob:
        (found,) = self.jobs(name)
        return found

    def delete(self, *names: str) -> None:
        self.kubectl("delete", "pods", *names, f"--namespace={NAMESPACE}", "--wait=false")

    def wait(self, true: Callable[[], object], what: str) -> None:
        wait_for(lambda: bool(true()), what, within=WITHIN)

    def clear(self) -> None:
        self.delete("--all")
        self.wait(lambda: not self.pods(), "all pods are gone")
        self.wait(lambda: not self.alive(), "all jobs have ended")

    def alive(self) -> list[SlurmJob]:
        return [job for job in self.jobs() if job.state in ("PENDING", "RUNNING")]


@pytest.fixture(scope="module")
def folder(explaining_logs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bridge")
    explaining_logs.append(made)
    return made


@pytest.fixture(scope="module")
def fakes(kube: RealKube, folders: Folders, display: Display, folder: Path) -> Iterator[Kwok]:
    programs = binaries.ensure(["kwok"], folders.cache, display)
    stages = kwok.like_kubelets(folder, programs)
    started = kwok.start(folder, programs, kube.kubectl, stages=stages)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def stage(fakes: Kwok, own_slurm: RealSlurm, folder: Path) -> Iterator[Stage]:
    kubectl = fakes.kubectl
    kubectl("create", "namespace", NAMESPACE)
    kubectl("create", "serviceaccount", "default", f"--namespace={NAMESPACE}")
    kubectl("create", "-f", "-", text=json.dumps(CRD))
    kubectl("wait", "--for=condition=Established", f"crd/{GROUPS}")
    made = Stage(kubectl, own_slurm, folder)
    yield made
    if made.bridge is not None:
        made.kill()
    kubectl("delete", "nodes", *NODES)
    kubectl("delete", "crd", GROUPS)


@pytest.fixture
def running(stage: Stage) -> Iterator[Stage]:
    """The bridge runs, and Slurm has the nodes."""
    if not stage.kubectl.get("node", NODES[0]):
        stage.create(*(node(name, number) for number, name in enumerate(NODES)))
    stage.start()
    stage.wait(lambda: len(slurm_nodes(stage)) == len(NODES), "Slurm has the nodes")
    yield stage
    if stage.bridge is None:
        stage.start()
    stage.clear()
    stage.stop()


def slurm_nodes(stage: Stage) -> dict[str, dict[str, str]]:
    rows = stage.slurm.scontrol("show", "nodes", "-o").splitlines()
    found = [dict(word.partition("=")[::2] for word in row.split()) for row in rows]
    return {each["NodeName"]: each for each in found if each.get("NodeName") in NODES}


def test_labelled_nodes_are_nodes_of_slurm(running: Stage) -> None:
    found = slurm_nodes(running)["br-1"]
    assert (found["NodeAddr"], found["CPUTot"]) == ("10.9.0.2", str(CPUS))
    assert "EXTERNAL" in found["State"]


def _held(pod: dict[str, Any]) -> bool:
    return words.FINALIZER in pod["metadata"].get("finalizers", ())


def test_a_pod_runs_where_slurm_says_and_its_job_ends_with_it(running: Stage) -> None:
    running.create(pod("alone", cpus=3))
    running.wait(lambda: running.pods()["alone"]["status"]["phase"] == "Running", "it runs")
    found, job = running.pods()["alone"], running.job("alone")
    assert job.state == "RUNNING"
    assert found["spec"]["nodeName"] == job.nodes
    assert found["metadata"]["annotations"][words.NODE] == job.nodes
    assert found["metadata"]["labels"][words.JOB_ID] == str(job.number)
    running.wait(lambda: _held(running.pods()["alone"]), "it is held")
    running.delete("alone")
    running.wait(lambda: running.job("alone").state == "CANCELLED", "its job has ended")
    running.wait(lambda: not running.pods(), "it is gone")


def test_a_pod_whose_job_is_cancelled_is_deleted(running: Stage) -> None:
    running.create(pod("cancelled"))
    running.wait(lambda: running.hosts("cancelled") > [""], "it is bound")
    running.slurm.inside("scancel", str(running.job("cancelled").number))
    running.wait(lambda: not running.pods(), "it is gone")


def test_a_gang_is_bound_all_together(running: Stage) -> None:
    names = [f"gang-{number}" for number in range(8)]
    running.create(group("gang", 8))
    running.create(*(pod(name, gang="gang") for name in names[:7]))
    running.create(pod("after"))
    running.wait(lambda: running.hosts("after") > [""], "one that came later is bound")
    assert running.hosts(*names) == [""] * 7
    assert not running.jobs("gang")
    running.create(pod(names[7], gang="gang"))
    running.wait(lambda: all(running.hosts(*names)), "all are bound")
    assert running.job("gang").state == "RUNNING"
    numbers = {each["metadata"]["labels"].get(words.JOB_ID) for each in running.pods().values()}
    assert numbers == {str(running.job("gang").number), str(running.job("after").number)}
    running.kubectl("delete", GROUPS, "gang", f"--namespace={NAMESPACE}")


def test_a_group_of_kubernetes_itself_is_bound_all_together(running: Stage) -> None:
    own = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "core", "namespace": NAMESPACE},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    pods = [pod("core-0"), pod("core-1")]
    for each in pods:
        each["spec"]["schedulingGroup"] = {"podGroupName": "core"}
    running.create(own, pods[0], pod("after"))
    running.wait(lambda: running.hosts("after") > [""], "one that came later is bound")
    assert running.hosts("core-0") == [""]
    running.create(pods[1])
    running.wait(lambda: all(running.hosts("core-0", "core-1")), "both are bound")
    assert running.job("core").state == "RUNNING"


def test_one_that_was_killed_finds_its_jobs_again(running: Stage) -> None:
    """Those that wait, those that run, and those of pods that it never saw bound."""
    waiting = [f"waiting-{number}" for number in range(5)]
    running.create(pod("hog-0", CPUS), pod("hog-1", CPUS), pod("hog-2", CPUS))
    running.wait(lambda: all(running.hosts("hog-0", "hog-1", "hog-2")), "no room is left")
    running.create(*map(pod, waiting))
    running.wait(lambda: len(running.jobs()) >= 8, "all are submitted")
    running.kill()
    before = {job.name: job.number for job in running.alive()}
    running.delete("hog-1")
    running.start()
    running.wait(
        lambda: sum(map(bool, running.hosts(*waiting))) == CPUS, "as many as have room are bound"
    )
    after = {job.name: job.number for job in running.alive()}
    assert after == {name: number for name, number in before.items() if name != "hog-1"}
    assert len(running.alive()) == len(after)


@pytest.mark.parametrize("seen", [1, 4, 8])
def test_one_that_is_killed_while_it_submits_submits_nothing_twice(
    running: Stage, seen: int
) -> None:
    names = [f"burst-{seen}-{number}" for number in range(CPUS * len(NODES))]
    running.create(*map(pod, names))
    running.wait(lambda: len([job for job in running.jobs() if job.name in names]) >= seen, "some")
    running.kill()
    running.start()
    running.wait(lambda: all(running.hosts(*names)), "all are bound")
    made = [job.name for job in running.jobs() if job.name in names]
    assert sorted(made) == sorted(names)
