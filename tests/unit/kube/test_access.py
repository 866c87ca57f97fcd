"""Kubeconfigs and service accounts, good and bad."""

import asyncio
import base64
import json
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from windlass.kube import access, kubeconfig
from windlass.kube.access import Access
from windlass.kube.credentials import TokenFile
from windlass.kube.errors import KubeError, Misconfigured, Unavailable
from windlass.local.pki import Authority, Subject

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
V1 = "client.authentication.k8s.io/v1"


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki")
    Authority(folder, datetime.now(UTC)).ensure([Subject("me", "me"), Subject("you", "you")])
    return folder


def data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def config(cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    return {
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    }


def load(folder: Path, content: dict[str, Any], context: str = "") -> Access:
    file = folder / "config"
    file.write_text(yaml.safe_dump(content))
    return kubeconfig.load([file], {"PATH": os.defpath}, lambda: NOW, context)


def token(way: Access) -> str:
    return asyncio.run(way.credentials.token())


# --- good ones -----------------------------------------------------------------------------


def test_a_token_and_a_custom_authority(tmp_path: Path, pki: Path) -> None:
    cluster = {"certificate-authority-data": data(pki / "ca.crt"), "tls-server-name": "kube"}
    way = load(tmp_path, config(cluster, {"token": "t"}))
    assert (way.server, way.namespace) == ("https://10.0.0.1:6443", "default")
    assert way.tls_server_name == "kube"
    assert token(way) == "t"
    assert way.tls is not None
    assert len(way.tls.get_ca_certs()) == 1
    assert way.tls.verify_mode is ssl.CERT_REQUIRED


def test_client_certificates_from_data_and_from_files_beside_the_config(
    tmp_path: Path, pki: Path
) -> None:
    (tmp_path / "me.crt").write_bytes((pki / "me.crt").read_bytes())
    for user in (
        {"client-certificate": "me.crt", "client-key": str(pki / "me.key")},
        {
            "client-certificate-data": data(pki / "me.crt"),
            "client-key-data": data(pki / "me.key"),
        },
    ):
        assert token(load(tmp_path, config({}, user))) == ""


def test_an_authority_without_the_newest_extensions_is_trusted(tmp_path: Path, pki: Path) -> None:
    way = load(tmp_path, config({"certificate-authority": str(pki / "ca.crt")}, {}))
    for tls in (way.tls, access.trusting(pki / "ca.crt")):
        assert tls is not None
        assert not tls.verify_flags & ssl.VERIFY_X509_STRICT
        assert tls.verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize("content", ["", "no certificate"])
def test_a_file_without_an_authority_is_no_trust(tmp_path: Path, content: str) -> None:
    (tmp_path / "ca.crt").write_text(content)
    with pytest.raises(Misconfigured, match="holds no certificate authority"):
        access.trusting(tmp_path / "ca.crt")
    with pytest.raises(Misconfigured, match="certificate-authority: holds no PEM"):
        load(tmp_path, config({"certificate-authority": "ca.crt"}, {}))


def test_verification_is_off_only_when_asked(tmp_path: Path) -> None:
    way = load(tmp_path, config({"insecure-skip-tls-verify": True}, {}))
    assert way.tls is not None
    assert way.tls.verify_mode is ssl.CERT_NONE


def test_another_context_can_be_named(tmp_path: Path) -> None:
    content = config({}, {"token": "t"})
    other = {"cluster": "c", "user": "u", "namespace": "slurm"}
    content["contexts"].append({"name": "there", "context": other})
    assert load(tmp_path, content, "there").namespace == "slurm"


def test_of_two_files_the_first_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    one = config({}, {"token": "one"})
    first.write_text(yaml.safe_dump({**one, "clusters": None, "current-context": ""}))
    second.write_text(yaml.safe_dump(config({}, {"token": "two"})))
    files = [tmp_path / "absent", first, second]
    assert token(kubeconfig.load(files, {}, lambda: NOW)) == "one"


def test_json_is_yaml(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(json.dumps(config({}, {"token": "t"})))
    assert token(kubeconfig.load([tmp_path / "config"], {}, lambda: NOW)) == "t"


def test_a_token_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    way = load(tmp_path, config({}, {"tokenFile": "token", "token": "outranked"}))
    assert token(way) == "one"
    (tmp_path / "new").write_text("two")
    (tmp_path / "new").replace(tmp_path / "token")
    assert token(way) == "two"


# --- bad ones ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cluster", "user", "field", "why"),
    [
        ({"proxy-url": "http://p"}, {}, "clusters[c].cluster.proxy-url", "not supported"),
        ({"server": "10.0.0.1"}, {}, "clusters[c].cluster.server", "no http(s) address"),
        (
            {"certificate-authority-data": "!"},
            {},
            "clusters[c].cluster.certificate-authority-data",
            "not base64",
        ),
        (
            {"certificate-authority-data": base64.b64encode(b"no").decode()},
            {},
            "clusters[c].cluster.certificate-authority-data",
            "no PEM",
        ),
        (
            {"certificate-authority": "absent.crt"},
            {},
            "clusters[c].cluster.certificate-authority",
            "there is no file",
        ),
        ({}, {"username": "me"}, "users[u].user.username", "use a token"),
        ({}, {"auth-provider": {"name": "gcp"}}, "users[u].user.auth-provider", "use exec"),
        ({}, {"as": "admin"}, "users[u].user.as", "not supported"),
        ({}, {"tokenFile": "absent"}, "users[u].user.tokenFile", "there is no file"),
        (
            {},
            {"client-certificate-data": base64.b64encode(b"x").decode()},
            "users[u].user.client-key",
            "go together",
        ),
        (
            {},
            {"exec": {"apiVersion": "v0", "command": "x"}},
            "users[u].user.exec.apiVersion",
            "is not one of",
        ),
        (
            {},
            {"exec": {"apiVersion": V1, "command": "x", "interactiveMode": "Always"}},
            "users[u].user.exec.interactiveMode",
            "nobody to ask",
        ),
        ({"server": 7}, {}, "$.clusters[0].cluster.server", "Expected `str`, got `int`"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_file_is_refused_by_file_and_field(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], field: str, why: str
) -> None:
    with pytest.raises(Misconfigured) as caught:
        load(tmp_path, config(cluster, user))
    assert str(tmp_path / "config") in str(caught.value)
    assert field in str(caught.value)
    assert why in str(caught.value)


def test_a_key_of_another_certificate_is_refused(tmp_path: Path, pki: Path) -> None:
    user = {"client-certificate": str(pki / "me.crt"), "client-key": str(pki / "you.key")}
    with pytest.raises(Misconfigured, match="not a PEM pair"):
        load(tmp_path, config({}, user))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"current-context": ""}, "current-context is not set"),
        ({"current-context": "elsewhere"}, "contexts: no 'elsewhere'; there are: here"),
        ({"clusters": []}, "clusters: no 'c'; there are: none"),
        ({"users": None}, "users: no 'u'; there are: none"),
    ],
)
def test_a_missing_part_is_named(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        load(tmp_path, {**config({}, {}), **change})
    assert why in str(caught.value)


@pytest.mark.parametrize("content", ["a: [", "- 1", ""])
def test_what_is_no_kubeconfig_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "config").write_text(content)
    with pytest.raises(Misconfigured, match="config"):
        kubeconfig.load([tmp_path / "config"], {}, lambda: NOW)


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"absent: cannot be read: No such file"):
        kubeconfig.load([tmp_path / "absent"], {}, lambda: NOW)


# --- exec plugins --------------------------------------------------------------------------


def plugin(folder: Path, script: str, **spec: Any) -> dict[str, Any]:
    """A user whose token a shell script prints."""
    file = folder / "plugin"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o700)
    return {"exec": {"apiVersion": V1, "command": "./plugin", **spec}}


def credential(**status: Any) -> str:
    answer = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
    return f"echo run >>runs; echo '{json.dumps(answer)}'"


def test_a_plugin_runs_once_until_its_token_expires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expiry = (NOW + timedelta(minutes=10)).isoformat()
    content = config({}, plugin(tmp_path, credential(token="t", expirationTimestamp=expiry)))
    (tmp_path / "config").write_text(yaml.safe_dump(content))
    clock = [NOW]
    way = kubeconfig.load([tmp_path / "config"], {"PATH": os.defpath}, lambda: clock[0])

    async def ask() -> list[int]:
        runs = []
        for later in (0, 5, 11):
            clock[0] = NOW + timedelta(minutes=later)
            assert await way.credentials.token() == "t"
            runs.append(len((tmp_path / "runs").read_text().splitlines()))
        assert await way.credentials.renew()
        clock[0] = NOW
        await way.credentials.token()
        return [*runs, len((tmp_path / "runs").read_text().splitlines())]

    assert asyncio.run(ask()) == [1, 1, 2, 3]


def test_a_plugin_is_told_what_it_may_know(tmp_path: Path) -> None:
    script = (
        'test "$COLOUR" = red || exit 3; case "$KUBERNETES_EXEC_INFO" in *10.0.0.1*) ;; '
        "*) exit 4;; esac\n" + credential(token="t")
    )
    user = plugin(
        tmp_path,
        f"cd {tmp_path}\n{script}",
        env=[{"name": "COLOUR", "value": "red"}],
        provideClusterInfo=True,
    )
    assert token(load(tmp_path, config({}, user))) == "t"


def test_a_plugin_may_bring_a_certificate(tmp_path: Path, pki: Path) -> None:
    script = credential(
        clientCertificateData=(pki / "me.crt").read_text(),
        clientKeyData=(pki / "me.key").read_text(),
    ).replace("echo '", "printf %s '")
    user = plugin(tmp_path, f"cd {tmp_path}\n{script}")
    assert token(load(tmp_path, config({}, user))) == ""


@pytest.mark.parametrize(
    ("script", "error", "why"),
    [
        ("echo oops >&2; exit 7", Unavailable, "ended with 7: oops"),
        ("echo hello", Misconfigured, "did not print an ExecCredential"),
        (
            'echo \'{"apiVersion":"v2","kind":"ExecCredential","status":{}}\'',
            Misconfigured,
            "printed v2",
        ),
        (
            credential(clientCertificateData="x", clientKeyData="y").replace(
                "echo run >>runs; ", ""
            ),
            Misconfigured,
            "not a PEM pair",
        ),
        (
            f'echo \'{{"apiVersion":"{V1}","kind":"ExecCredential","status":{{}}}}\'',
            Misconfigured,
            "neither a token nor a certificate",
        ),
    ],
)
def test_a_plugin_that_fails_is_named(
    tmp_path: Path, script: str, error: type[KubeError], why: str
) -> None:
    way = load(tmp_path, config({}, plugin(tmp_path, script)))
    with pytest.raises(error) as caught:
        token(way)
    assert "users[u].user.exec" in str(caught.value)
    assert why in str(caught.value)


def test_a_plugin_that_is_not_installed_says_how_to_get_it(tmp_path: Path) -> None:
    spec = {"apiVersion": V1, "command": "no-such-plugin", "installHint": "ask the admin"}
    way = load(tmp_path, config({}, {"exec": spec}))
    with pytest.raises(Misconfigured, match=r"cannot be run.*ask the admin"):
        token(way)


# --- in a pod ------------------------------------------------------------------------------


def test_a_pod_reads_its_service_account(tmp_path: Path, pki: Path) -> None:
    (tmp_path / "ca.crt").write_bytes((pki / "ca.crt").read_bytes())
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("slurm\n")
    variables = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    way = access.in_cluster(variables, tmp_path)
    assert (way.server, way.namespace, token(way)) == ("https://[fd00::1]:443", "slurm", "t")


def test_outside_a_pod_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="KUBERNETES_SERVICE_HOST is not set"):
        access.in_cluster({}, tmp_path)


def test_a_pod_without_a_token_is_told_what_it_lacks(tmp_path: Path) -> None:
    variables = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(Misconfigured, match="automountServiceAccountToken"):
        access.in_cluster(variables, tmp_path)


def test_an_empty_token_file_is_not_sent_as_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(Misconfigured, match="is empty"):
        asyncio.run(TokenFile(tmp_path / "token").token())
