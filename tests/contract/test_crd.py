"""The real API server takes the printed CRD, fills in defaults and refuses what is wrong."""

import json
from typing import Any

import pytest

from tests.contract.gadgets import GADGET
from windlass.kube.crd import printed
from windlass.local.errors import CommandFailed
from windlass.local.kubectl import Kubectl
from windlass.local.waiting import wait_for
from windlass.testing.kube import RealKube


@pytest.fixture(scope="module")
def kubectl(kube: RealKube) -> Kubectl:
    kube.kubectl("create", "--validate=strict", "-f", "-", text=printed(GADGET))
    kube.kubectl("wait", "--for=condition=Established", "--timeout=30s", f"crd/{GADGET.name}")
    wait_for(lambda: served(kube.kubectl), "gadgets are served", within=30)
    return kube.kubectl


def served(kubectl: Kubectl) -> bool:
    try:
        kubectl("get", "--raw=/apis/tests.windlass.dev/v1/gadgets")
    except CommandFailed:
        return False
    return True


def create(kubectl: Kubectl, name: str, **spec: Any) -> Any:
    body = {
        "apiVersion": "tests.windlass.dev/v1",
        "kind": "Gadget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"clusterName": "c", **spec},
    }
    return json.loads(
        kubectl("create", "--validate=ignore", "-o", "json", "-f", "-", text=json.dumps(body))
    )


def test_it_is_established_and_structural(kubectl: Kubectl) -> None:
    status = kubectl.get("crd", GADGET.name)["status"]
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in conditions


def test_the_server_changes_nothing_in_it(kubectl: Kubectl) -> None:
    answer = kubectl("apply", "--server-side", "-f", "-", text=printed(GADGET))
    before = kubectl.get("crd", GADGET.name)["metadata"]["generation"]
    assert "gadgets" in answer
    assert before == 1


def test_defaults_are_filled_in(kubectl: Kubectl) -> None:
    spec = create(kubectl, "plain", ports=[{"name": "http", "port": 80}])["spec"]
    assert spec == {
        "clusterName": "c",
        "replicas": 1,
        "most": 10,
        "mode": "Safe",
        "paused": False,
        "limits": {"memory": "1Gi", "maxUnavailable": "25%"},
        "ports": [{"name": "http", "port": 80, "protocol": "TCP"}],
    }


def test_what_is_not_known_is_pruned_but_for_templates(kubectl: Kubectl) -> None:
    template = {"spec": {"containers": [{"name": "slurmd", "anything": [1, {"a": None}]}]}}
    spec = create(kubectl, "kept", template=template, blob=[1, "x"], unknown=True)["spec"]
    assert spec["template"] == template
    assert spec["blob"] == [1, "x"]
    assert "unknown" not in spec


def test_an_integer_or_a_string_is_taken_where_either_may_stand(kubectl: Kubectl) -> None:
    limits = {"memory": 1024, "maxUnavailable": 3}
    assert create(kubectl, "either", limits=limits)["spec"]["limits"] == limits


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"replicas": -1}, "spec.replicas in body should be greater than or equal to 0"),
        ({"replicas": 9, "most": 3}, "replicas cannot exceed most"),
        ({"mode": "Odd"}, 'Unsupported value: "Odd"'),
        ({"ports": [{"name": "http", "port": 0}]}, "should be greater than 0"),
        ({"ports": [{"name": "H", "port": 1}]}, "should match"),
        ({"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]}, "Duplicate value"),
        ({"features": ["x", "x"]}, "Duplicate value"),
        ({"source": {}}, "give exactly one of secret, text"),
        ({"source": {"secret": {"name": "s"}, "text": "t"}}, "give exactly one of"),
        ({"source": {"secret": {}}}, "spec.source.secret.name: Required value"),
        ({"limits": {"memory": "much"}}, "should match"),
        ({"even": 3}, "an even number"),
        ({"ratio": 1.5}, "should be less than or equal to 1"),
        ({"clusterName": None}, "spec.clusterName: Required value"),
    ],
)
def test_a_bad_object_is_refused(kubectl: Kubectl, spec: dict[str, Any], words: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        create(kubectl, "bad", **spec)
    assert words in caught.value.output


def test_an_immutable_field_stays(kubectl: Kubectl) -> None:
    create(kubectl, "fixed")
    with pytest.raises(CommandFailed, match="clusterName cannot be changed"):
        kubectl("patch", "gdg", "fixed", "--type=merge", "-p", '{"spec":{"clusterName":"d"}}')


def test_people_see_columns_short_names_and_a_warning_for_the_old_version(
    kubectl: Kubectl,
) -> None:
    create(kubectl, "shown", mode="Fast")
    assert kubectl("get", "gdg", "shown").split() == ["NAME", "REPLICAS", "shown", "1"]
    assert "Fast" in kubectl("get", "testing", "shown", "-o", "wide")
    assert "How many there are." in kubectl("explain", "gadgets.spec.replicas")
    crd = kubectl.get("crd", GADGET.name)
    assert [version.get("deprecated", False) for version in crd["spec"]["versions"]] == [
        False,
        True,
    ]


def test_scale_and_status_are_subresources(kubectl: Kubectl) -> None:
    create(kubectl, "scaled")
    kubectl("scale", "gdg", "scaled", "--replicas=7")
    patch = '{"spec":{"replicas":1},"status":{"replicas":5}}'
    kubectl("patch", "gdg", "scaled", "--subresource=status", "--type=merge", "-p", patch)
    seen = kubectl.get("gdg", "scaled")
    assert (seen["spec"]["replicas"], seen["status"]["replicas"]) == (7, 5)


def test_list_maps_are_merged_by_their_key(kubectl: Kubectl) -> None:
    for manager, port in (("one", "http"), ("two", "grpc")):
        body = {
            "apiVersion": "tests.windlass.dev/v1",
            "kind": "Gadget",
            "metadata": {"name": "merged", "namespace": "default"},
            "spec": {"clusterName": "c", "ports": [{"name": port, "port": 80}]},
        }
        kubectl(
            *("apply", "--server-side", f"--field-manager={manager}", "-f", "-"),
            text=json.dumps(body),
        )
    ports = kubectl.get("gdg", "merged")["spec"]["ports"]
    assert {port["name"] for port in ports} == {"http", "grpc"}
