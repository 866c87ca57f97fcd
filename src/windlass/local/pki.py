"""Keys and certificates of a cluster: one authority, and a certificate for each who speaks."""

import base64
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from windlass.kube import issuing
from windlass.kube.issuing import Bearer
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
        made = issuing.authority("windlass-local", self.now, VALID)
        _write(self.folder / "ca.key", made.key_pem)
        _write(self.folder / "ca.crt", made.certificate_pem)

    def _make_service_account_key(self) -> None:
        key = issuing.new_key()
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        _write(self.folder / "service-accounts.key", issuing.key_pem(key))
        _write(self.folder / "service-accounts.pub", public)

    def _issue(self, subject: Subject) -> None:
        certificate, key = self.certificate("ca"), self.key("ca")
        signer = issuing.read(certificate.read_bytes(), key.read_bytes())
        bearer = Bearer(subject.user, subject.groups, subject.names, client=True)
        made = issuing.issue(signer, bearer, self.now, VALID)
        _write(self.key(subject.file), made.key_pem)
        _write(self.certificate(subject.file), made.certificate_pem)


def utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _data(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _write(path: Path, content: bytes) -> None:
    """Write a secret whole or not at all, readable by its owner only."""
    half = path.with_name(f"{path.name}.half")
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    half.replace(path)
