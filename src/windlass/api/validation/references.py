"""References to other objects, and what must not be changed of them."""

from collections.abc import Iterator

from windlass.api.common import ControllerReference, SecretKey
from windlass.api.validation.findings import Caution, Finding, Problem

FIELD = "spec.controllerRef"


def controller(new: ControllerReference, namespace: str) -> Iterator[Finding]:
    if new.namespace and new.namespace != namespace:
        yield Problem(
            f"{FIELD}.namespace",
            f"a Controller of {new.namespace} cannot be referred to from {namespace}",
            "put both into one namespace",
        )


def controller_stays(new: ControllerReference, old: ControllerReference) -> Iterator[Finding]:
    if new.name != old.name:
        yield Problem(
            f"{FIELD}.name",
            f"it cannot be changed from {old.name}: what runs belongs to that cluster",
            "make another one",
        )


def jwt_key_stays(new: SecretKey | None, old: SecretKey | None) -> Iterator[Finding]:
    """Whether the key is optional makes it no other key."""
    before, now = _place(old), _place(new)
    if before != now:
        yield Problem(
            "spec.jwtKeyRef",
            f"it cannot be changed from {before}: tokens that are in use would be refused",
            "name that Secret, and put the new key into it",
        )


def one_jwt_key(new: SecretKey | None, older: SecretKey | None) -> Iterator[Finding]:
    if new and older and _place(new) != _place(older):
        yield Caution(
            "spec.jwtHs256KeyRef",
            "it names another key than jwtKeyRef, which wins",
            "take jwtHs256KeyRef out",
        )


def _place(ref: SecretKey | None) -> str:
    return f"{ref.key} of {ref.name}" if ref else "none"
