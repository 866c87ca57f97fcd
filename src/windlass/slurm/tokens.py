"""Where the token of each request comes from. Slurm takes it in the header X-SLURM-USER-TOKEN."""

import base64
import binascii
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, Protocol

from windlass.slurm.errors import Unauthorized
from windlass.values.clock import Clock


class Tokens(Protocol):
    """Asked once for every request, so what it answers may change at any time."""

    def token(self) -> str: ...


@dataclass(frozen=True, slots=True)
class StaticToken:
    """One token for good."""

    text: str = field(repr=False)

    def token(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A file that somebody else keeps fresh; read again for every request."""

    path: Path

    def token(self) -> str:
        try:
            text = self.path.read_text().strip()
        except OSError as error:
            raise Unauthorized(f"cannot read the token file {self.path}: {error}") from error
        return text.removeprefix("SLURM_JWT=")


@dataclass(frozen=True, slots=True)
class Passthrough:
    """The token of whoever this request is made for, such as one signed by a JWKS key.

    `current` finds it, for example in a context variable; it answers "" when there is none.
    """

    current: Callable[[], str]

    def token(self) -> str:
        if text := self.current():
            return text
        raise Unauthorized("this request came without a token of its own")


RENEW_BEFORE: Final = 0.2
"""The last part of a token's life in which it is not used any more."""


@dataclass(slots=True)
class MintedToken:
    """Tokens signed with Slurm's own key (the file jwt_key=), renewed before they end."""

    key: bytes = field(repr=False)
    clock: Clock
    user: str = "slurm"
    lifespan: int = 3600
    _text: str = field(default="", init=False, repr=False)
    _renew_at: float = field(default=0.0, init=False)
    _made_at: float = field(default=0.0, init=False)

    def token(self) -> str:
        now = self.clock.now()
        # A clock that was set back would otherwise keep a token that begins in the future.
        if not self._text or now >= self._renew_at or now < self._made_at:
            self._text = mint(self.key, self.user, now, self.lifespan)
            self._made_at = now
            self._renew_at = now + self.lifespan * (1 - RENEW_BEFORE)
        return self._text


def mint(
    key: bytes, user: str, now: float, lifespan: int, more: Mapping[str, object] | None = None
) -> str:
    """A JSON web token as Slurm wants it: HS256, and the user's name in the claim `sun`."""
    issued = int(now)
    claims = {**(more or {}), "exp": issued + lifespan, "iat": issued, "sun": user}
    signed = f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_encoded(claims)}"
    return f"{signed}.{_signature(key, signed)}"


def claims_of(token: str, key: bytes) -> dict[str, object] | None:
    """What a token says, if this key signed it."""
    signed, _, signature = token.rpartition(".")
    if not hmac.compare_digest(_signature(key, signed).encode(), signature.encode()):
        return None
    part = signed.rpartition(".")[2]
    try:
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError):
        return None
    return claims if isinstance(claims, dict) else None


def _signature(key: bytes, signed: str) -> str:
    return _base64(hmac.new(key, signed.encode(), sha256).digest())


def _encoded(claims: dict[str, object]) -> str:
    return _base64(json.dumps(claims, separators=(",", ":")).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
