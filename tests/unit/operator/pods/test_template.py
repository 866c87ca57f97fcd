from windlass.api.common import PodTemplate, ServiceTemplate, TemplateMetadata
from windlass.kube.kinds import CONTROLLER
from windlass.kube.meta import Meta
from windlass.operator.pods.service import Door, service
from windlass.operator.pods.template import Layers, pod_template

CR = Meta(
    name="slurm",
    namespace="hpc",
    uid="u1",
    labels={"team": "a", "app": "cr"},
    annotations={
        "note": "cr",
        "hash": "cr",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    },
)


def test_the_metadata_of_a_pod_comes_in_layers_and_ours_are_on_top() -> None:
    template = PodTemplate(
        metadata=TemplateMetadata(
            labels={"app": "user", "tier": "x"}, annotations={"note": "user", "hash": "user"}
        )
    )
    layers = Layers(
        cr=CR,
        template=template,
        labels={"tier": "ours"},
        annotations={"hash": "ours"},
        container="slurmctld",
    )

    assert pod_template(layers, {})["metadata"] == {
        "labels": {"team": "a", "app": "user", "tier": "ours"},
        "annotations": {
            "note": "user",
            "hash": "ours",
            "kubectl.kubernetes.io/default-container": "slurmctld",
        },
    }


DOOR = Door(
    name="slurm-controller",
    port_name="slurmctld",
    port=6817,
    target="slurmctld",
    labels={"app": "slurmctld"},
    selector={"app": "slurmctld"},
)


def test_a_service_leads_to_the_daemon_whatever_else_the_user_adds() -> None:
    template = ServiceTemplate(
        spec={
            "type": "NodePort",
            "ports": [{"name": "extra", "port": 1}],
            "selector": {"app": "other", "zone": "z"},
        },
        port=7000,
        node_port=30000,
    )

    spec = service(CR, CONTROLLER, DOOR, template)["spec"]

    assert spec["ports"] == [
        {"name": "extra", "port": 1},
        {
            "name": "slurmctld",
            "port": 7000,
            "targetPort": "slurmctld",
            "protocol": "TCP",
            "nodePort": 30000,
        },
    ]
    assert spec["selector"] == {"app": "slurmctld", "zone": "z"}
    assert spec["type"] == "NodePort"


def test_a_child_belongs_to_its_custom_resource() -> None:
    metadata = service(CR, CONTROLLER, DOOR)["metadata"]

    assert metadata["namespace"] == "hpc"
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "slinky.slurm.net/v1beta1",
            "kind": "Controller",
            "name": "slurm",
            "uid": "u1",
            "blockOwnerDeletion": True,
            "controller": True,
        }
    ]
