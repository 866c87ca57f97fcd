"""A token that is or could be in the Secret. Pure."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from windlass.slurm.tokens import RENEW_BEFORE, claims_of, mint

ISSUER: Final = "slurm-operator"
SKEW: Final = timedelta(minutes=1)
"""By so much two clocks may differ."""


@dataclass(frozen=True, slots=True)
class Issue:
    """A signed token and what it says."""

    text: str = field(repr=False)
    user: str
    issued: datetime
    expires: datetime

    @property
    def due(self) -> datetime:
        """When it is to be renewed."""
        return self.expires - (self.expires - self.issued) * RENEW_BEFORE

    def valid(self, now: datetime) -> bool:
        return self.issued - SKEW <= now < self.expires


def new(key: bytes, user: str, now: datetime, lifetime: int, *, of: str) -> Issue:
    """A token that begins now; `of` tells the tokens of one second apart."""
    issued = datetime.fromtimestamp(int(now.timestamp()), UTC)
    more = {
        "jti": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{of}/{issued.isoformat()}")),
        "iss": ISSUER,
        "nbf": int(issued.timestamp()),
    }
    text = mint(key, user, issued.timestamp(), lifetime, more)
    return Issue(text, user, issued, issued + timedelta(seconds=lifetime))


def read(text: str, key: bytes) -> Issue | None:
    """The token, if this key signed it and it says who it is for and until when."""
    claims = claims_of(text, key)
    if claims is None:
        return None
    user, issued, expires = claims.get("sun"), claims.get("iat"), claims.get("exp")
    if not (isinstance(user, str) and isinstance(issued, int) and isinstance(expires, int)):
        return None
    try:
        return Issue(
            text, user, datetime.fromtimestamp(issued, UTC), datetime.fromtimestamp(expires, UTC)
        )
    except (OverflowError, ValueError):
        return None
