"""The nodes of a cluster, and what happens when one fails."""

import json
import os
import signal
from datetime import datetime

from tests.e2e.pods import pod
from windlass.local.kubectl import Kubectl
from windlass.local.network import Network, delete_link
from windlass.local.waiting import wait_for
from windlass.mains import windlass
from windlass.testing.local import LocalCluster


def ready(kubectl: Kubectl, node: str) -> str:
    conditions = kubectl.get("node", node)["status"]["conditions"]
    return next(str(c["status"]) for c in conditions if c["type"] == "Ready")


def marks(cluster: LocalCluster) -> dict[str, bytes]:
    """What is known of each started program: its number, its start and its arguments."""
    files = [*cluster.folder.path.glob("run/*.json"), *cluster.folder.path.glob("nodes/*/*.json")]
    return {str(file): file.read_bytes() for file in files}


def test_the_nodes_are_ready(cluster: LocalCluster) -> None:
    assert cluster.nodes == [f"{cluster.name}-1", f"{cluster.name}-2"]
    assert [ready(cluster.kubectl, node) for node in cluster.nodes] == ["True", "True"]


def test_the_cluster_says_which_kubernetes_it_is(cluster: LocalCluster) -> None:
    version = json.loads(cluster.kubectl("version", "-o", "json"))
    assert version["serverVersion"]["gitVersion"].startswith("v1.36.")
    assert version["clientVersion"]["gitVersion"] == version["serverVersion"]["gitVersion"]


def test_each_node_has_namespaces_of_its_own(cluster: LocalCluster) -> None:
    def inside(node: str, *words: str) -> str:
        return cluster.local("shell", node, "--", *words).strip()

    one, two = cluster.nodes
    assert [inside(node, "hostname") for node in (one, two)] == [one, two]
    for kind in ("net", "mnt", "pid", "uts"):
        link = ("readlink", f"/proc/self/ns/{kind}")
        assert inside(one, *link) != inside(two, *link)


def test_a_second_up_leaves_a_running_cluster_alone(cluster: LocalCluster) -> None:
    before, rules = marks(cluster), cluster.remains().rules
    cluster.local("up")
    assert marks(cluster) == before
    assert cluster.remains().rules == rules


def test_up_starts_a_dead_part_of_the_control_plane_again(cluster: LocalCluster) -> None:
    scheduler = cluster.folder.path / "run" / "kube-scheduler.json"
    pid = json.loads(scheduler.read_bytes())["pid"]
    os.kill(pid, signal.SIGKILL)
    status = cluster.run("status")
    assert "kube-scheduler            DOWN" in status.stdout + status.stderr
    assert status.returncode == 1
    cluster.local("up")
    assert json.loads(scheduler.read_bytes())["pid"] != pid
    assert cluster.run("status").returncode == 0


def test_up_mends_a_node_whose_cable_was_pulled(cluster: LocalCluster) -> None:
    record = cluster.folder.require()
    delete_link(Network(cluster.folder.link_prefix, record.addresses).link(record.nodes[1]))
    cluster.local("up")
    inside = cluster.local("shell", cluster.nodes[1], "--", "ip", "-br", "address", "show", "eth0")
    assert str(record.addresses.node(2)) in inside


def test_start_returns_when_the_node_itself_says_that_it_is_ready(cluster: LocalCluster) -> None:
    node = cluster.nodes[1]
    cluster.local("node", "kill", node)
    killed = windlass.now().replace(microsecond=0)
    cluster.local("node", "start", node)
    conditions = cluster.kubectl.get("node", node)["status"]["conditions"]
    (said,) = [c["lastHeartbeatTime"] for c in conditions if c["type"] == "Ready"]
    assert datetime.fromisoformat(said) >= killed


def test_a_node_loses_power_and_comes_back(cluster: LocalCluster, namespace: str) -> None:
    node = cluster.nodes[1]
    cluster.apply(pod("a", namespace, nodeName=node, restartPolicy="Always"))
    cluster.wait_for_pod("a", namespace=namespace)
    cluster.local("node", "kill", node)
    wait_for(lambda: ready(cluster.kubectl, node) == "Unknown", f"{node} is missed", within=90)
    cluster.local("node", "start", node)
    assert ready(cluster.kubectl, node) == "True"

    def restarted() -> bool:
        seen = cluster.kubectl.get("pod", "a", "-n", namespace)
        counts = [c["restartCount"] for c in seen["status"]["containerStatuses"] if c["ready"]]
        return counts == [1]

    wait_for(restarted, "the pod runs again on its node", within=60)


def test_a_node_is_added_and_removed(cluster: LocalCluster, namespace: str) -> None:
    assert cluster.local("node", "add", "extra").strip() == "extra"
    cluster.apply(pod("a", namespace, nodeName="extra"))
    cluster.wait_for_pod("a", namespace=namespace)
    cluster.local("node", "remove", "extra")
    assert cluster.kubectl.get("node", "extra") is None
    assert "extra" not in cluster.nodes
    assert not cluster.cgroups.remains(f"{cluster.folder.cgroup}/extra")
