"""Whether the bearer of a token may GET a path of ours: asked of the API server, kept a while."""

import enum
import hashlib
from typing import Any, Final

import msgspec

from windlass.kube import kinds, requests
from windlass.kube.queue import Monotonic
from windlass.kube.requests import Sends

KEPT: Final = 60.0
MOST: Final = 256  # answers that are kept; a flood of bad tokens must not fill the memory


class Standing(enum.Enum):
    ALLOWED = enum.auto()
    FORBIDDEN = enum.auto()
    UNKNOWN = enum.auto()


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class _TokenStatus(msgspec.Struct):
    authenticated: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _TokenReview(msgspec.Struct):
    status: _TokenStatus


class _AccessStatus(msgspec.Struct):
    allowed: bool = False


class _AccessReview(msgspec.Struct):
    status: _AccessStatus


class Bearers:
    """What the API server said of tokens."""

    def __init__(self, client: Sends, clock: Monotonic) -> None:
        self._client = client
        self._clock = clock
        self._answers: dict[tuple[bytes, str], tuple[float, Standing]] = {}

    async def standing(self, token: str, path: str) -> Standing:
        asked = hashlib.sha256(token.encode()).digest(), path
        until, kept = self._answers.get(asked, (0.0, Standing.UNKNOWN))
        if self._clock() < until:
            return kept
        found = await self._ask(token, path)
        self._answers.pop(asked, None)
        if len(self._answers) >= MOST:
            del self._answers[next(iter(self._answers))]
        self._answers[asked] = self._clock() + KEPT, found
        return found

    async def _ask(self, token: str, path: str) -> Standing:
        body: dict[str, Any] = {"spec": {"token": token}}
        known = await self._client.send(requests.create(kinds.TOKEN_REVIEW, "", body, _TokenReview))
        if not known.status.authenticated:
            return Standing.UNKNOWN
        user = known.status.user
        body = {
            "spec": {
                "user": user.username,
                "uid": user.uid,
                "groups": user.groups or [],
                "extra": user.extra or {},
                "nonResourceAttributes": {"path": path, "verb": "get"},
            }
        }
        access = await self._client.send(
            requests.create(kinds.SUBJECT_ACCESS_REVIEW, "", body, _AccessReview)
        )
        return Standing.ALLOWED if access.status.allowed else Standing.FORBIDDEN
