"""What a pod may expect of the cluster."""

from ipaddress import ip_address

from tests.e2e.pods import claim, pod, service
from windlass.local.errors import CommandFailed
from windlass.local.waiting import wait_for
from windlass.testing.local import LocalCluster

SERVER = (
    "$s = IO::Socket::INET->new(LocalPort => 8080, Listen => 5, ReuseAddr => 1) or die;"
    'while ($c = $s->accept) { print $c "hello\\n"; close $c }'
)


def test_a_pod_gets_an_address_of_its_node(cluster: LocalCluster, namespace: str) -> None:
    cluster.apply(pod("a", namespace))
    seen = cluster.wait_for_pod("a", namespace=namespace)
    record = cluster.folder.require()
    pods = record.addresses.pods_of(record.node(seen["spec"]["nodeName"]).index)
    assert ip_address(seen["status"]["podIP"]) in pods


def test_a_pod_finds_services_by_name(cluster: LocalCluster, namespace: str) -> None:
    cluster.apply(pod("a", namespace), service("web", namespace, 80))
    cluster.wait_for_pod("a", namespace=namespace)
    look_up = ("exec", "-n", namespace, "a", "--", "getent", "hosts")
    api = str(cluster.folder.require().addresses.api_service)
    assert cluster.kubectl(*look_up, "kubernetes.default").split()[0] == api
    found = cluster.kubectl.get("service", "web", "-n", namespace)["spec"]["clusterIP"]
    assert cluster.kubectl(*look_up, "web").split()[0] == found


def test_a_service_leads_to_a_pod_on_the_other_node(cluster: LocalCluster, namespace: str) -> None:
    here, there = cluster.nodes
    serve = ("perl", "-MIO::Socket::INET", "-e", SERVER)
    cluster.apply(
        pod("web", namespace, *serve, nodeName=there),
        service("web", namespace, 8080),
        pod("a", namespace, nodeName=here),
    )
    for name in ("web", "a"):
        cluster.wait_for_pod(name, namespace=namespace)
    fetch = ("exec", "-n", namespace, "a", "--", "bash", "-c", "cat < /dev/tcp/web/8080")

    def answers() -> bool:
        try:
            return cluster.kubectl(*fetch) == "hello\n"
        except CommandFailed:  # kube-proxy has not heard of it yet
            return False

    wait_for(answers, "the service answers", within=20)


def test_a_service_that_is_not_there_refuses_at_once(cluster: LocalCluster, namespace: str) -> None:
    cluster.apply(pod("a", namespace))
    cluster.wait_for_pod("a", namespace=namespace)
    nobody = cluster.folder.require().addresses.services[-2]
    connect = f"timeout 5 bash -c 'cat < /dev/tcp/{nobody}/80'; echo $?"
    said = cluster.kubectl("exec", "-n", namespace, "a", "--", "bash", "-c", connect)
    assert said == "1\n"


def test_logs_and_exec_reach_a_pod(cluster: LocalCluster, namespace: str) -> None:
    cluster.apply(pod("a", namespace, "sh", "-c", "echo said; sleep infinity"))
    cluster.wait_for_pod("a", namespace=namespace)
    assert cluster.kubectl("logs", "-n", namespace, "a") == "said\n"
    assert cluster.kubectl("exec", "-n", namespace, "a", "--", "echo", "heard") == "heard\n"


def test_a_volume_survives_its_pod_and_moves_with_it(cluster: LocalCluster, namespace: str) -> None:
    here, there = cluster.nodes
    volume = {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        "mounts": [{"name": "data", "mountPath": "/data"}],
    }
    cluster.apply(
        claim("data", namespace),
        pod("a", namespace, "sh", "-c", "echo kept > /data/file", nodeName=here, **volume),
    )
    cluster.wait_for_pod("a", "Succeeded", namespace)
    cluster.kubectl("delete", "pod", "a", "-n", namespace)
    cluster.apply(pod("b", namespace, "cat", "/data/file", nodeName=there, **volume))
    cluster.wait_for_pod("b", "Succeeded", namespace)
    assert cluster.kubectl("logs", "-n", namespace, "b") == "kept\n"
