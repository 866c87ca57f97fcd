from base64 import b64decode

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_ssh_private_key,
)

from tests.unit.operator.logins.observed import observed
from windlass.operator.logins.host_keys import make_host_keys, secret
from windlass.operator.logins.words import HOST_KEYS


def test_host_keys_are_of_three_sorts_and_sshd_reads_them() -> None:
    made = make_host_keys()
    keys = [load_ssh_private_key(made[file], None) for file in HOST_KEYS]

    rsa, ed25519, ecdsa = keys
    assert isinstance(rsa, RSAPrivateKey)
    assert rsa.key_size == 4096
    assert isinstance(ed25519, Ed25519PrivateKey)
    assert isinstance(ecdsa, EllipticCurvePrivateKey)
    assert ecdsa.curve.name == "secp256r1"
    for file, key in zip(HOST_KEYS, keys, strict=True):
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        assert made[f"{file}.pub"] == public + b"\n"


def test_the_secret_is_immutable_and_goes_with_the_login_set() -> None:
    made = secret(observed())

    assert made["immutable"] is True
    assert made["metadata"]["name"] == "login-ssh-host-keys"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u-login"
    assert b64decode(made["data"]["ssh_host_ed25519_key"]) == b"private"
