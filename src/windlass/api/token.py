"""Token: a JSON Web Token for one user, kept fresh in a Secret."""

from datetime import datetime
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from windlass.api.common import (
    Conditions,
    JwtHs256KeyRef,
    LocalReference,
    ObservedGeneration,
    Seconds,
    SecretKey,
    about,
)
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

    username: Annotated[str, Meta(min_length=1), about("The Slurm user that the token is for.")]
    controller_ref: Annotated[
        LocalReference | None, about("The Controller whose JWT key signs, instead of jwtKeyRef.")
    ] = None
    jwt_key_ref: Annotated[SecretKey | None, ATOMIC, about("The HS256 key that signs.")] = None
    jwt_hs256_key_ref: JwtHs256KeyRef = msgspec.field(name="jwtHs256KeyRef", default=None)
    lifetime: Annotated[Seconds, about("How long a token is good.")] = "15m"
    refresh: Annotated[
        bool, about("Whether it is renewed in time; if not, it is made once and stays.")
    ] = True
    secret_ref: Annotated[
        SecretKey | None,
        ATOMIC,
        about("Where the token goes; left out: <name>-jwt-<username>, entry SLURM_JWT."),
    ] = None

    @property
    def jwt_key(self) -> SecretKey | None:
        """The JWT key that counts: the older name still works."""
        return self.jwt_key_ref or self.jwt_hs256_key_ref


class TokenStatus(Part, frozen=True, gc=False):
    """The token that is in the Secret now."""

    issued_at: Annotated[datetime | None, about("When it was signed.")] = None
    expires_at: Annotated[datetime | None, about("Until when it is good.")] = None
    secret_name: Annotated[str, about("The Secret that it is in.")] = ""
    observed_generation: ObservedGeneration = 0
    conditions: Conditions | None = None


class Token(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: TokenSpec
    status: TokenStatus = TokenStatus()
