"""What an Accounting refers to and is not there."""

from collections.abc import Iterator
from dataclasses import dataclass

from windlass.api import names
from windlass.api.common import SecretKey
from windlass.operator.keys import SLURM_JWKS, effective_keys, entry, key_fault
from windlass.operator.slurmdbd.children import storage_files
from windlass.operator.slurmdbd.conf import CA, CERTIFICATE, PRIVATE_KEY
from windlass.operator.slurmdbd.observe import Observed
from windlass.values.reason import Reason


@dataclass(frozen=True, slots=True)
class Missing:
    reason: Reason
    comes: bool = False
    """Whether it comes by itself: the operator makes it, or a Controller brings it."""


def missing(observed: Observed) -> Missing | None:
    """The first thing without which slurmdbd cannot start."""
    return next(_missing(observed), None)


def _missing(observed: Observed) -> Iterator[Missing]:
    keys, storage = observed.keys, observed.storage
    if storage is None:
        yield Missing(Reason("NoDatabase", "storageConfig is missing: the host and the password"))
        return
    if keys is None:
        sentence = "no Controller refers to this Accounting yet, and it names no keys of its own"
        yield Missing(Reason("WaitingForController", sentence), comes=True)
        return
    if fault := key_fault(observed.secret(keys.slurm.name), keys.slurm):
        made = keys.slurm.name in _made(observed) and fault.code == "KeyMissing"
        yield Missing(fault, comes=made)
    yield from _missing_entry(observed, "KeyMissing", keys.jwt)
    if keys.jwks and observed.text(keys.jwks.name, keys.jwks.key) is None:
        at = f"entry {keys.jwks.key} in a ConfigMap {keys.jwks.name}"
        yield Missing(Reason("KeyMissing", f"there is no {at}"))
    yield from _missing_entry(observed, "PasswordMissing", observed.password_ref)
    yield from _missing_files(observed)


def _missing_entry(observed: Observed, code: str, ref: SecretKey) -> Iterator[Missing]:
    if entry(observed.secret(ref.name), ref.key) is None:
        reason = Reason(code, f"there is no entry {ref.key} in a Secret {ref.name}")
        yield Missing(reason, comes=ref.name in _made(observed))


def _made(observed: Observed) -> set[str]:
    """Secrets that the operator makes itself."""
    found = (controller.metadata.name for controller in observed.controllers)
    keys = {made(name) for name in found for made in (names.slurm_key, names.jwt_key)}
    return {*keys, names.storage_password(observed.accounting.metadata.name)}


def _missing_files(observed: Observed) -> Iterator[Missing]:
    tls = observed.storage.tls if observed.storage else None
    if tls is None:
        return
    found = storage_files(observed)
    if (ref := tls.ca_ref or tls.ca_secret_ref) and CA not in found:
        sentence = f"there is no entry {ref.key} in {ref.name}"
        yield Missing(Reason("CertificateMissing", sentence))
    if tls.certificate_ref and not {CERTIFICATE, PRIVATE_KEY} <= set(found):
        sentence = f"there is no Secret {tls.certificate_ref.name} with tls.crt and tls.key"
        yield Missing(Reason("CertificateMissing", sentence))


def stranger(observed: Observed) -> Reason | None:
    """A Controller that cannot speak to this slurmdbd, since it has another key."""
    keys = observed.keys
    if keys is None:
        return None
    for controller in observed.controllers:
        other = effective_keys(controller, observed.accounting).slurm
        theirs = _content(observed, other)
        if theirs is not None and theirs != _content(observed, keys.slurm):
            return Reason(
                "KeysDiffer",
                f"Controller {controller.metadata.name} has the slurm.key of Secret {other.name}, "
                f"slurmdbd that of {keys.slurm.name}; set slurmKeyRef of this Accounting, and all "
                "its Controllers share it",
            )
    return None


def _content(observed: Observed, ref: SecretKey) -> tuple[bytes | None, bytes | None] | None:
    found = observed.secret(ref.name)
    return None if found is None else (entry(found, ref.key), entry(found, SLURM_JWKS))
