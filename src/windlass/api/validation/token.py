"""Token: how long it lives, where it goes, and which key signs it."""

import re
from collections.abc import Iterator
from typing import Final

from windlass.api import durations, names
from windlass.api.common import SecretKey
from windlass.api.token import Token, TokenSpec
from windlass.api.validation import references
from windlass.api.validation.context import Context
from windlass.api.validation.findings import Finding, Problem
from windlass.values.malformed import Malformed

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
LONGEST_NAME: Final = 253
SHORTEST: Final = 1.0


def review(new: Token, old: Token | None, _: Context) -> tuple[Finding, ...]:
    spec = new.spec
    return (
        *_lifetime(spec.lifetime),
        *_secret(new),
        *references.one_jwt_key(spec.jwt_key_ref, spec.jwt_hs256_key_ref),
        *(() if old is None else references.jwt_key_stays(_key(spec), _key(old.spec))),
    )


def _lifetime(given: str) -> Iterator[Finding]:
    try:
        length = durations.seconds(given)
    except Malformed as error:
        yield Problem("spec.lifetime", error.problem, error.fix)
        return
    if length < SHORTEST:
        yield Problem("spec.lifetime", f"a token of {given} is never good", "write 15m or more")


def _secret(token: Token) -> Iterator[Finding]:
    """The name of a Secret is stricter than that of a user."""
    if token.spec.secret_ref is not None:
        return
    name = names.token_secret(token.metadata.name, token.spec.username)
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        problem = f"it would be {name!r}, which no Secret can be called"
        yield Problem("spec.secretRef", problem, "name the Secret and its entry here")


def _key(spec: TokenSpec) -> SecretKey | None:
    """What signs; a Controller stands for the key it has."""
    if spec.jwt_key is not None or spec.controller_ref is None:
        return spec.jwt_key
    return SecretKey(name=f"Controller {spec.controller_ref.name}", key="the JWT key")
