"""kwok's nodes beside the real ones."""

from tests.e2e.pods import pod
from windlass.testing.kwok import ANNOTATION, Kwok
from windlass.testing.local import LocalCluster


def test_fake_nodes_run_the_pods_that_are_sent_to_them(
    cluster: LocalCluster, fake_nodes: Kwok, namespace: str
) -> None:
    names = fake_nodes.add_nodes(50)
    toleration = {"key": ANNOTATION, "operator": "Exists"}
    selector = {ANNOTATION: "fake"}
    cluster.apply(pod("a", namespace, tolerations=[toleration], nodeSelector=selector))
    assert cluster.wait_for_pod("a", namespace=namespace)["spec"]["nodeName"] in names


def test_real_pods_stay_off_fake_nodes(
    cluster: LocalCluster, fake_nodes: Kwok, namespace: str
) -> None:
    cluster.apply(pod("a", namespace))
    assert cluster.wait_for_pod("a", namespace=namespace)["spec"]["nodeName"] in cluster.nodes
