"""Token: a JSON Web Token for one user, kept fresh in a Secret."""

from datetime import datetime
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from windlass.api.common import Conditions, LocalReference, Seconds, SecretKey
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part
from windlass.kube.schema import ATOMIC, Rule


class TokenSpec(Part, frozen=True, gc=False):
    """Who the token is for, and how long each one lives."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.jwtKeyRef) || has(self.jwtHs256KeyRef) || has(self.controllerRef)",
            "give jwtKeyRef, the key to sign with, or controllerRef, whose key is used",
        ),
    )

    username: Annotated[str, Meta(min_length=1)]
    controller_ref: LocalReference | None = None
    jwt_key_ref: Annotated[SecretKey | None, ATOMIC] = None
    jwt_hs256_key_ref: Annotated[SecretKey | None, ATOMIC] = msgspec.field(
        name="jwtHs256KeyRef", default=None
    )
    lifetime: Seconds = "15m"
    refresh: bool = True
    secret_ref: Annotated[SecretKey | None, ATOMIC] = None

    @property
    def jwt_key(self) -> SecretKey | None:
        """The JWT key that counts: the older name still works."""
        return self.jwt_key_ref or self.jwt_hs256_key_ref


class TokenStatus(Part, frozen=True, gc=False):
    """The token that is in the Secret now."""

    issued_at: datetime | None = None
    expires_at: datetime | None = None
    secret_name: str = ""
    observed_generation: int = 0
    conditions: Conditions | None = None


class Token(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: TokenSpec
    status: TokenStatus = TokenStatus()
