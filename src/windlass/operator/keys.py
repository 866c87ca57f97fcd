"""Which keys hold for a cluster, and how pods get them. Pure.

slurm.key and the JWT key of a Controller are, each for itself: what it names; else what its
Accounting names; else what the operator makes. An Accounting that names none takes those of the
oldest Controller that refers to it, since both ends must have the same.

A Secret with a slurm.key may hold `slurm.jwks` too: several keys, one of which signs. Slurm takes
that file where there is one, and so a key can be replaced while the old one still counts
(docs/howto/rotate-keys.md).
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from windlass.api import names
from windlass.api.accounting import Accounting
from windlass.api.common import ConfigMapKey, SecretKey
from windlass.api.controller import Controller
from windlass.operator.hashes import digest_map
from windlass.slurm import key_set
from windlass.slurm.key_set import KeySet
from windlass.values.malformed import Malformed
from windlass.values.reason import Reason

SLURM_KEY: Final = "slurm.key"
SLURM_JWKS: Final = key_set.FILE
JWT_KEY: Final = "jwt.key"
JWKS: Final = "jwks.json"


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the keys of a cluster are: entries of Secrets and of a ConfigMap."""

    slurm: SecretKey
    jwt: SecretKey
    jwks: ConfigMapKey | None = None


def effective_keys(controller: Controller, accounting: Accounting | None) -> Keys:
    """The keys of a Controller, whose Accounting this is."""
    own, name = controller.spec, controller.metadata.name
    shared = accounting.spec if accounting is not None else None
    return Keys(
        slurm=own.slurm_key_ref
        or (shared.slurm_key_ref if shared else None)
        or SecretKey(name=names.slurm_key(name), key=SLURM_KEY),
        jwt=own.jwt_key
        or (shared.jwt_key if shared else None)
        or SecretKey(name=names.jwt_key(name), key=JWT_KEY),
        jwks=own.jwks_key_ref or (shared.jwks_key_ref if shared else None),
    )


def accounting_keys(accounting: Accounting, controllers: Sequence[Controller]) -> Keys | None:
    """The keys of an Accounting to which these Controllers refer, the oldest first."""
    own = accounting.spec
    theirs = effective_keys(controllers[0], accounting) if controllers else None
    slurm = own.slurm_key_ref or (theirs.slurm if theirs else None)
    jwt = own.jwt_key or (theirs.jwt if theirs else None)
    if slurm is None or jwt is None:
        return None
    return Keys(slurm, jwt, own.jwks_key_ref or (theirs.jwks if theirs else None))


# --- in a pod ------------------------------------------------------------------------------


def slurm_key_sources(keys: Keys) -> list[dict[str, Any]]:
    """Sources of a projected volume: slurm.key, and slurm.jwks from the day the Secret has it."""
    if keys.slurm.key == SLURM_JWKS:
        return [_secret(keys.slurm.name, SLURM_JWKS, SLURM_JWKS)]
    later = _secret(keys.slurm.name, SLURM_JWKS, SLURM_JWKS)
    later["secret"]["optional"] = True
    return [_secret(keys.slurm.name, keys.slurm.key, SLURM_KEY), later]


def jwt_key_sources(keys: Keys) -> list[dict[str, Any]]:
    """Sources of a projected volume: jwt.key, and jwks.json if the cluster has one."""
    sources = [_secret(keys.jwt.name, keys.jwt.key, JWT_KEY)]
    if keys.jwks is not None:
        items = [{"key": keys.jwks.key, "path": JWKS}]
        sources.append({"configMap": {"name": keys.jwks.name, "items": items}})
    return sources


def _secret(name: str, key: str, path: str) -> dict[str, Any]:
    return {"secret": {"name": name, "items": [{"key": key, "path": path}]}}


# --- content -------------------------------------------------------------------------------


def entry(secret: Mapping[str, Any] | None, key: str) -> bytes | None:
    """One entry of a Secret as the API server writes it."""
    text = ((secret or {}).get("data") or {}).get(key)
    try:
        return None if text is None else base64.b64decode(text, validate=True)
    except binascii.Error:
        return None


def key_fault(secret: Mapping[str, Any] | None, ref: SecretKey) -> Reason | None:
    """What is wrong with the slurm.key: each daemon that read it would end at once."""
    if not entry(secret, ref.key):
        return Reason("KeyMissing", f"there is no entry {ref.key} in a Secret {ref.name}")
    several = entry(secret, SLURM_JWKS)
    try:
        if several is not None:
            KeySet.parse(several.decode(errors="replace"))
    except Malformed as error:
        sentence = f"{SLURM_JWKS} of Secret {ref.name}: {error.problem}; {error.fix}"
        return Reason("BadKey", sentence)
    return None


def slurm_key_hash(secret: Mapping[str, Any] | None, ref: SecretKey) -> str:
    """Changes whenever a daemon that reads its keys once must be started again."""
    return digest_map(dict(_present(secret, (ref.key, SLURM_JWKS))))


def jwt_key_hash(secret: Mapping[str, Any] | None, ref: SecretKey, jwks: str | None = None) -> str:
    found = dict(_present(secret, (ref.key,)))
    return digest_map(found if jwks is None else {**found, JWKS: jwks.encode()})


def _present(secret: Mapping[str, Any] | None, keys: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for key in keys:
        content = entry(secret, key)
        if content is not None:
            yield key, content
