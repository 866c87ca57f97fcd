"""The real API server that contract tests speak to."""

import json
import ssl
import urllib.error
import urllib.request

import pytest

from windlass.local.errors import CommandFailed
from windlass.testing.kube import RealKube


def test_it_is_ready_and_of_the_pinned_version(kube: RealKube) -> None:
    assert kube.kubectl("get", "--raw=/readyz") == "ok"
    version = json.loads(kube.kubectl("get", "--raw=/version"))
    assert version["gitVersion"].startswith("v1.36.")


def test_it_keeps_what_it_is_given(kube: RealKube) -> None:
    kube.kubectl("create", "namespace", "kept")
    kube.kubectl("create", "configmap", "a", "-n", "kept", "--from-literal=key=value")
    assert kube.kubectl.get("configmap", "a", "-n", "kept")["data"] == {"key": "value"}


def test_it_refuses_what_is_invalid(kube: RealKube) -> None:
    with pytest.raises(CommandFailed, match="Invalid value"):
        kube.kubectl("create", "configmap", "Not_A_Name")


def test_it_lets_nobody_in_without_a_certificate(kube: RealKube) -> None:
    trust = ssl.create_default_context(cafile=str(kube.authority.folder / "ca.crt"))
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{kube.server}/api/v1/nodes", context=trust)
    caught.value.close()
    assert caught.value.code in (401, 403)
