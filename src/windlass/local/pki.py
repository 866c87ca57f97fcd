"""Keys and certificates of a cluster: one authority, and a certificate for each who speaks."""

import base64
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from windlass.local.addresses import Addresses

VALID = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a certificate speaks for: in Kubernetes the common name is the user, the rest groups."""

    file: str
    user: str
    groups: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def control_plane_subjects(addresses: Addresses) -> list[Subject]:
    gateway = str(addresses.gateway)
    api = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")
    api_names = (*api, "kubernetes.default.svc.cluster.local", str(addresses.api_service))
    local = ("localhost", "127.0.0.1", gateway)
    return [
        Subject("etcd", "etcd", names=local),
        Subject("apiserver-etcd", "kube-apiserver"),
        Subject("apiserver", "kube-apiserver", names=(*local, *api_names)),
        Subject("apiserver-kubelet", "kube-apiserver", ("system:masters",)),
        Subject("front-proxy", "front-proxy-client"),
        Subject("admin", "kubernetes-admin", ("system:masters",)),
        Subject("controller-manager", "system:kube-controller-manager", names=local),
        Subject("scheduler", "system:kube-scheduler", names=local),
        Subject("proxy", "system:kube-proxy"),
    ]


def node_subject(name: str, address: IPv4Address) -> Subject:
    return Subject(name, f"system:node:{name}", ("system:nodes",), (name, str(address)))


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority in a folder; what exists is kept, what is missing is made."""

    folder: Path
    now: datetime

    def ensure(self, subjects: Iterable[Subject]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not (self.folder / "ca.crt").exists():
            self._make_authority()
        if not (self.folder / "service-accounts.pub").exists():
            self._make_service_account_key()
        for subject in subjects:
            if not self.certificate(subject.file).exists():
                self._issue(subject)

    def certificate(self, file: str) -> Path:
        return self.folder / f"{file}.crt"

    def key(self, file: str) -> Path:
        return self.folder / f"{file}.key"

    def write_kubeconfig(self, file: str, server: str, cluster: str) -> Path:
        """A kubeconfig that speaks as the subject `file`; every YAML reader takes JSON."""
        path = self.folder / f"{file}.conf"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": self._server(server)}],
            "users": [{"name": file, "user": self._user(file)}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": file}}],
            "current-context": cluster,
        }
        _write(path, json.dumps(config, indent=2).encode())
        return path

    def _server(self, server: str) -> dict[str, str]:
        return {"server": server, "certificate-authority-data": _data(self.folder / "ca.crt")}

    def _user(self, file: str) -> dict[str, str]:
        return {
            "client-certificate-data": _data(self.certificate(file)),
            "client-key-data": _data(self.key(file)),
        }

    def _make_authority(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("windlass-local", ())
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            self._draft(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        _write(self.folder / "ca.key", _private(key))
        _write(self.folder / "ca.crt", certificate.public_bytes(Encoding.PEM))

    def _make_service_account_key(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        _write(self.folder / "service-accounts.key", _private(key))
        _write(self.folder / "service-accounts.pub", public)

    def _issue(self, subject: Subject) -> None:
        authority = x509.load_pem_x509_certificate((self.folder / "ca.crt").read_bytes())
        signer = load_pem_private_key((self.folder / "ca.key").read_bytes(), None)
        assert isinstance(signer, ec.EllipticCurvePrivateKey)
        key = ec.generate_private_key(ec.SECP256R1())
        uses = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        draft = (
            self._draft(_name(subject.user, subject.groups), authority.subject, key.public_key())
            .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        )
        if subject.names:
            names = x509.SubjectAlternativeName([_general(name) for name in subject.names])
            draft = draft.add_extension(names, critical=False)
        _write(self.key(subject.file), _private(key))
        certificate = draft.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM)
        _write(self.certificate(subject.file), certificate)

    def _draft(
        self, name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.now - timedelta(hours=1))
            .not_valid_after(self.now + VALID)
        )


def utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _name(user: str, groups: tuple[str, ...]) -> x509.Name:
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _write(path: Path, content: bytes) -> None:
    """Write a secret whole or not at all, readable by its owner only."""
    half = path.with_name(f"{path.name}.half")
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    half.replace(path)
