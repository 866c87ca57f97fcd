"""What a RestApi refers to and is not there."""

from collections.abc import Iterator
from dataclasses import dataclass

from windlass.api import names
from windlass.operator.keys import entry, key_fault
from windlass.operator.slurmrestd.observe import Observed
from windlass.values.reason import Reason


@dataclass(frozen=True, slots=True)
class Missing:
    reason: Reason
    comes: bool = False
    """Whether the operator is about to make it."""


def missing(observed: Observed) -> Missing | None:
    """The first thing without which slurmrestd cannot start."""
    return next(_missing(observed), None)


def _missing(observed: Observed) -> Iterator[Missing]:
    ref, namespace = observed.rest_api.spec.controller_ref, observed.rest_api.metadata.namespace
    if ref.namespace not in ("", namespace):
        sentence = f"Controller {ref.name} is in namespace {ref.namespace}, and pods cannot mount "
        yield Missing(Reason("ControllerElsewhere", sentence + "its key and configuration"))
        return
    keys = observed.keys
    if keys is None:
        yield Missing(Reason("ControllerMissing", f"there is no Controller {ref.name}"))
        return
    if fault := key_fault(observed.slurm_key, keys.slurm):
        made = keys.slurm.name == names.slurm_key(ref.name) and fault.code == "KeyMissing"
        yield Missing(fault, comes=made)
    if observed.conf is None:
        sentence = f"there is no slurm.conf in a ConfigMap {names.config(ref.name)} yet"
        yield Missing(Reason("WaitingForConfiguration", sentence), comes=True)
    yield from _missing_certificate(observed)


def _missing_certificate(observed: Observed) -> Iterator[Missing]:
    tls = observed.rest_api.spec.tls
    if tls and not all(entry(observed.tls, name) for name in ("tls.crt", "tls.key")):
        sentence = f"there is no Secret {tls.secret_ref.name} with tls.crt and tls.key"
        yield Missing(Reason("CertificateMissing", sentence))
