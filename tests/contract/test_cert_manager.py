"""The charts with cert-manager: its own controllers make the certificate that webhooks show."""

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509 import verification

from tests.contract.helm import Body, Helm
from windlass.local import binaries
from windlass.local.kubectl import Kubectl
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.mains import windlass
from windlass.testing.kube import DIES_WITH_US, RealKube

NAMESPACE = "certified"
HOOKS = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}


@pytest.fixture(scope="module")
def kubectl(
    kube: RealKube,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Kubectl]:
    """Of a server with cert-manager."""
    program = binaries.ensure(["cert-manager"], folders.cache, display)["cert-manager"]
    kinds = str(program.parent / "deploy" / "crds")
    kube.kubectl("apply", "--server-side", "-f", kinds)
    kube.kubectl("wait", "--for=condition=Established", "-f", kinds, "--timeout=30s")
    kube.kubectl("create", "namespace", NAMESPACE)
    log = tmp_path_factory.mktemp("cert-manager") / "cert-manager.log"
    explaining_logs.append(log.parent)
    env = {**os.environ, "KUBECONFIG": str(kube.kubeconfig)}
    with log.open("w") as file:
        running = subprocess.Popen([*DIES_WITH_US, program], env=env, stdout=file, stderr=file)
    yield kube.kubectl
    running.terminate()
    running.wait(30)


def authority(kubectl: Kubectl, kind: str, name: str) -> bytes | None:
    """Whom the API server trusts in these webhooks, once all of them say so."""
    entries = kubectl.get(kind, name)["webhooks"]
    (bundle,) = {entry["clientConfig"].get("caBundle", "") for entry in entries}
    return base64.b64decode(bundle) or None


def verify(certificates: bytes, trusted: bytes, name: str) -> None:
    """As the API server does."""
    leaf, *between = x509.load_pem_x509_certificates(certificates)
    store = verification.Store(x509.load_pem_x509_certificates(trusted))
    policy = verification.PolicyBuilder().store(store).time(windlass.now())
    policy.build_server_verifier(x509.DNSName(name)).verify(leaf, between)


@pytest.mark.parametrize(
    ("chart", "values"),
    [
        ("windlass-operator", {"certManager": {"enabled": True}, "webhook": {"podsBinding": True}}),
        ("windlass-bridge", {"admission": {"certManager": {"enabled": True}}}),
    ],
)
def test_the_server_trusts_the_certificate_that_cert_manager_made(
    helm: Helm, kubectl: Kubectl, chart: str, values: Body
) -> None:
    made = helm.template(chart, {**values, "namespaceOverride": NAMESPACE})
    wanted = [o for o in made.objects if o["kind"] in {"Issuer", "Certificate", *HOOKS}]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": wanted})
    hooks = [(each["kind"], each["metadata"]["name"]) for each in wanted if each["kind"] in HOOKS]
    shown = next(
        o["spec"] for o in wanted if o["kind"] == "Certificate" and "dnsNames" in o["spec"]
    )
    kubectl("create", "--validate=strict", "-f", "-", text=text)
    try:
        kubectl(
            *("wait", "--for=condition=Ready", "certificate", "--all"),
            *("-n", NAMESPACE, "--timeout=60s"),
        )
        secret = kubectl.get("secret", shown["secretName"], "-n", NAMESPACE)["data"]
        assert {"tls.crt", "tls.key"} <= secret.keys()
        assert hooks
        for hook in hooks:
            trusted = wait_for(partial(authority, kubectl, *hook), f"{hook} trusts", within=30)
            verify(base64.b64decode(secret["tls.crt"]), trusted, shown["dnsNames"][0])
    finally:
        for hook in hooks:
            kubectl("delete", *hook)
