import json
from ipaddress import IPv4Network
from typing import Any

import pytest
import yaml

from windlass.local.addons import manifest, render
from windlass.local.addresses import Addresses

ADDRESSES = Addresses(IPv4Network("10.201.0.0/16"))
IMAGES = {name: f"here/{name}:1" for name in ("base", "coredns", "local-path-provisioner")}


def objects(text: str) -> list[Any]:
    return list(yaml.safe_load_all(text))


def only(kind: str, name: str, text: str) -> Any:
    (found,) = [o for o in objects(text) if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return found


def test_dns_answers_at_the_address_that_kubelet_tells_pods() -> None:
    service = only("Service", "kube-dns", manifest(ADDRESSES, IMAGES))
    assert service["spec"]["clusterIP"] == str(ADDRESSES.dns_service)


def test_there_is_one_default_storage_class_and_its_volumes_have_no_node() -> None:
    classes = [o for o in objects(manifest(ADDRESSES, IMAGES)) if o["kind"] == "StorageClass"]
    (default,) = classes
    mark = "storageclass.kubernetes.io/is-default-class"
    assert default["metadata"]["annotations"][mark] == "true"
    config = only("ConfigMap", "local-path-config", manifest(ADDRESSES, IMAGES))["data"]
    assert json.loads(config["config.json"]) == {"sharedFileSystemPath": "/windlass/volumes"}
    assert '"$VOL_DIR"' in config["setup"]


@pytest.mark.parametrize("name", ["coredns", "provisioner"])
def test_our_own_pods_ask_for_no_privilege(name: str) -> None:
    spec = only("Deployment", name, manifest(ADDRESSES, IMAGES))["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError, match="coredns_image"):
        render("dns", {"dns_address": "10.0.0.10"})
