"""X.509 in small: an authority, and certificates that it signs. Pure; EC P-256 throughout."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SKEW: Final = timedelta(minutes=5)  # clocks of those who verify may be behind ours


@dataclass(frozen=True, slots=True)
class Signer:
    """A certificate and its key, both ours."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signer) and self.certificate == other.certificate

    def __hash__(self) -> int:
        return hash(self.certificate)

    @property
    def certificate_pem(self) -> bytes:
        return pem(self.certificate)

    @property
    def key_pem(self) -> bytes:
        return key_pem(self.key)


@dataclass(frozen=True, slots=True)
class Bearer:
    """Whom a certificate is for; Kubernetes reads the common name as user, the rest as groups."""

    common_name: str
    organisations: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """DNS names and addresses that it may serve as."""
    client: bool = False
    """Whether it may also be shown by the one who calls."""


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def authority(name: str, now: datetime, life: timedelta) -> Signer:
    """An authority that signs for itself and makes no other authorities."""
    key = new_key()
    own = _name(name)
    certificate = (
        _draft(own, own, key, now, life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Signer(certificate, key)


def issue(signer: Signer, bearer: Bearer, now: datetime, life: timedelta) -> Signer:
    """A certificate signed by `signer`, with a key of its own; it never outlives its authority."""
    key = new_key()
    left = min(life, signer.certificate.not_valid_after_utc - now)
    subject = _name(bearer.common_name, bearer.organisations)
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH]
    if bearer.client:
        purposes.append(ExtendedKeyUsageOID.CLIENT_AUTH)
    draft = (
        _draft(subject, signer.certificate.subject, key, now, left)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(issuer, critical=False)
    )
    if bearer.names:
        names = x509.SubjectAlternativeName([_general(name) for name in bearer.names])
        draft = draft.add_extension(names, critical=False)
    return Signer(draft.sign(signer.key, hashes.SHA256()), key)


def read(certificate: x509.Certificate | bytes, key: bytes) -> Signer:
    """A certificate with its key from PEM; raises ValueError or TypeError if they do not fit."""
    if isinstance(certificate, bytes):
        certificate = x509.load_pem_x509_certificate(certificate)
    private = load_pem_private_key(key, password=None)
    if not isinstance(private, ec.EllipticCurvePrivateKey):
        raise TypeError("not an elliptic key")
    if private.public_key() != certificate.public_key():
        raise ValueError("a key does not belong to its certificate")
    return Signer(certificate, private)


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _draft(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    life: timedelta,
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str, organisations: tuple[str, ...] = ()) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organisations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
