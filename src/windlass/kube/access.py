"""How to reach an API server: address, trust and credentials.

`in_cluster` reads what kubelet mounts into a pod; `kubeconfig.load` reads what a person has. Both
end in an Access, the only thing `client.py` asks for.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from windlass.kube.credentials import Credentials, TokenFile
from windlass.kube.errors import Misconfigured

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class Access:
    """A way to one API server, as one user."""

    server: str
    credentials: Credentials
    tls: ssl.SSLContext | None = None
    tls_server_name: str | None = None
    namespace: str = "default"


def in_cluster(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Access:
    """The access of a pod: its service account, whose token kubelet renews on disk."""
    return Access(
        server=_server(environment),
        credentials=TokenFile(_present(folder / "token")),
        tls=trusting(_present(folder / "ca.crt")),
        namespace=_present(folder / "namespace").read_text().strip(),
    )


def trusting(authority: Path) -> ssl.SSLContext:
    """TLS that believes the certificates of this file and no others."""
    try:
        return trusted(authority.read_text())
    except (OSError, ValueError) as error:
        raise Misconfigured(f"{authority}: holds no certificate authority: {error}") from None


def trusted(authorities: str | None) -> ssl.SSLContext:
    """TLS that believes these PEM certificates, or the system's when None is given.

    Python 3.13 began to demand extensions that the authorities of many clusters lack; Go and
    everything else that speaks to them does not.
    """
    if authorities is not None and not authorities.strip():
        raise ValueError("it is empty")  # ssl would take that for the system's
    tls = ssl.create_default_context(cadata=authorities)
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return tls


def _server(environment: Mapping[str, str]) -> str:
    host = _variable(environment, "KUBERNETES_SERVICE_HOST")
    port = _variable(environment, "KUBERNETES_SERVICE_PORT")
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    if not environment.get(name):
        raise Misconfigured(f"{name} is not set: not in a pod? Give a kubeconfig instead")
    return environment[name]


def _present(path: Path) -> Path:
    if not path.is_file():
        fix = "the pod needs automountServiceAccountToken: true"
        raise Misconfigured(f"{path}: there is no such file; {fix}")
    return path
