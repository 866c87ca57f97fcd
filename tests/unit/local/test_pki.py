import json
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from windlass.local.addresses import Addresses
from windlass.local.pki import Authority, control_plane_subjects, node_subject

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
ADDRESSES = Addresses(IPv4Network("10.200.0.0/16"))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("pki"), NOON)
    made.ensure([*control_plane_subjects(ADDRESSES), node_subject("n", IPv4Address("10.200.0.11"))])
    return made


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def names(certificate: x509.Certificate) -> set[str]:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in found}


def test_every_certificate_is_signed_by_the_authority(authority: Authority) -> None:
    root = read(authority.folder / "ca.crt")
    leaves = [path for path in authority.folder.glob("*.crt") if path.name != "ca.crt"]
    assert len(leaves) == 10
    for leaf in leaves:
        read(leaf).verify_directly_issued_by(root)


def test_the_api_server_is_known_by_every_name_it_is_called_by(authority: Authority) -> None:
    found = names(read(authority.certificate("apiserver")))
    assert {"10.200.0.1", "10.200.16.1", "127.0.0.1", "kubernetes.default.svc"} <= found


def test_a_node_is_a_node_and_nothing_more(authority: Authority) -> None:
    certificate = read(authority.certificate("n"))
    subject = certificate.subject
    assert [a.value for a in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [
        "system:node:n"
    ]
    groups = [a.value for a in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    assert groups == ["system:nodes"]
    assert names(certificate) == {"n", "10.200.0.11"}


def test_certificates_last_for_years(authority: Authority) -> None:
    leaf = read(authority.certificate("admin"))
    assert leaf.not_valid_before_utc < NOON
    assert leaf.not_valid_after_utc > NOON + timedelta(days=3000)


def test_private_keys_are_closed_to_others(authority: Authority) -> None:
    for path in authority.folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_what_exists_is_kept(authority: Authority) -> None:
    before = {path.name: path.read_bytes() for path in authority.folder.iterdir()}
    authority.ensure(control_plane_subjects(ADDRESSES))
    assert {path.name: path.read_bytes() for path in authority.folder.iterdir()} == before


def test_a_kubeconfig_carries_all_that_its_reader_needs(authority: Authority) -> None:
    path = authority.write_kubeconfig("admin", "https://10.200.0.1:6443", "demo")
    config = json.loads(path.read_text())
    path.unlink()
    assert config["current-context"] == "demo"
    assert config["clusters"][0]["cluster"]["server"] == "https://10.200.0.1:6443"
    assert config["users"][0]["user"].keys() == {"client-certificate-data", "client-key-data"}


def test_keys_are_elliptic_and_small(authority: Authority) -> None:
    key = read(authority.certificate("apiserver")).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
