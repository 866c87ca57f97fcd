"""A Slurm with accounting and the bridge beside it, installed once from their charts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from windlass.local.bridge import Bridge
from windlass.local.helm import Helm
from windlass.local.kubectl import Kubectl
from windlass.local.slurm import Slurm
from windlass.local.waiting import wait_for
from windlass.testing import device_driver, workload_controllers
from windlass.testing.bridged import Bridged
from windlass.testing.local import LocalCluster

HOME, PODS = "bridge-home", "bridge-pods"
URGENT = "urgent"
"""A partition of the same nodes, whose jobs may have the places of others."""
RULES = f"""
GresTypes=gpu
AccountingStorageEnforce=associations
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName={URGENT} Nodes=slurm-bridge PriorityTier=10
"""
VALUES = {
    "bridge": {"enabled": True},
    "controller": {"extraConf": RULES},
    "restapi": {"agent": {"enabled": True}},
    "accounting": {"enabled": True},
    "mariadb": {"enabled": True},
}


@pytest.fixture(scope="session")
def controllers(
    cluster: LocalCluster, helm: Helm, programs: dict[str, Path], kubectl: Kubectl
) -> Iterator[None]:
    """JobSet, LeaderWorkerSet and PodGroup, with those who look after them."""
    for image in workload_controllers.IMAGES:
        cluster.local("image", "load", image)
    workload_controllers.install(helm, kubectl, programs)
    yield
    workload_controllers.uninstall(helm, kubectl)


@pytest.fixture(scope="session")
def bridge(operator: Slurm, controllers: None) -> Iterator[Bridge]:
    """Both nodes of the cluster are Slurm's, too, and the namespace of `bridged` is managed."""
    kubectl = operator.kubectl
    slurm = Slurm(kubectl, operator.helm, operator.charts, VALUES, HOME)
    slurm.install()
    kubectl("create", "namespace", PODS)
    installed = Bridge(slurm, namespace=PODS)
    slurm.wait_until_idle(1)
    slurm.run("sacctmgr", "--immediate", "add", "user", "slurm", "account=root")
    installed.install()
    names = [node["metadata"]["name"] for node in kubectl.get("nodes")["items"]]
    installed.give(*names)
    yield installed
    operator.helm.uninstall("windlass-bridge", HOME)
    operator.helm.uninstall("slurm", HOME)
    for name in (PODS, HOME):
        kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="session")
def gpus(
    bridge: Bridge, cluster: LocalCluster, helm: Helm, programs: dict[str, Path]
) -> Iterator[None]:
    """Both nodes get devices of a class while they are Slurm's, and Slurm hears of it."""
    cluster.local("image", "load", device_driver.IMAGE)
    device_driver.install(helm, cluster.kubectl, programs)
    shown = f"gpu:{device_driver.CLASS}:{device_driver.EACH}"
    listed = ("sinfo", "--noheader", "--Node", "--partition=slurm-bridge", "--format=%T %G")
    wait_for(
        lambda: bridge.slurm.run(*listed).splitlines() == [f"idle {shown}"] * 2,
        f"both nodes have {shown}",
        within=60,
        every=0.5,
    )
    yield
    device_driver.uninstall(helm, cluster.kubectl)


@pytest.fixture
def bridged(bridge: Bridge) -> Iterator[Bridged]:
    """An empty managed namespace and an empty queue, before and after."""
    yield from emptied(bridge)


@pytest.fixture
def elsewhere(bridge: Bridge, namespace: str) -> Iterator[Bridged]:
    """The same for a namespace that is not managed."""
    yield from emptied(replace(bridge, namespace=namespace))


def emptied(bridge: Bridge) -> Iterator[Bridged]:
    found = Bridged(bridge)
    yield found
    found.clear()
    wait_for(lambda: not found.queue(), "the queue is empty", within=60)
