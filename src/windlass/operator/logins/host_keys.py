"""The keys by which people recognise a login host. Made once: a new one looks like an attack."""

import base64
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from windlass.api import names
from windlass.kube.kinds import LOGIN_SET
from windlass.operator import owned
from windlass.operator.logins.observe import Observed
from windlass.operator.logins.words import common_labels

RSA_BITS: Final = 4096
PrivateKey: TypeAlias = rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey


def make_host_keys() -> dict[str, bytes]:
    """New keys of three sorts, in OpenSSH's format. Takes half a second; call it in a thread."""
    made: dict[str, PrivateKey] = {
        "ssh_host_rsa_key": rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS),
        "ssh_host_ed25519_key": ed25519.Ed25519PrivateKey.generate(),
        "ssh_host_ecdsa_key": ec.generate_private_key(ec.SECP256R1()),
    }
    return {name: text for file, key in made.items() for name, text in _files(file, key)}


def secret(observed: Observed) -> dict[str, Any]:
    owner = observed.login_set.metadata
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": owned.metadata(
            owner, LOGIN_SET, names.ssh_host_keys(owner.name), common_labels(owner)
        ),
        "type": "Opaque",
        "immutable": True,
        "data": _encoded(observed.host_keys),
    }


def _files(file: str, key: PrivateKey) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return (file, private), (f"{file}.pub", public + b"\n")


def _encoded(entries: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(entries[name]).decode() for name in sorted(entries)}
