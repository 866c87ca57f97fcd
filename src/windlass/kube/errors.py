"""What can go wrong when one speaks to an API server: one class per decision the caller can take.

    KubeError
    ├── Misconfigured      the kubeconfig or service account is wrong: tell the person, stop
    ├── Unavailable        no answer in time, or 5xx: the caller tries again with backoff
    │   ├── Unreachable    the connection failed or broke: likewise; reads are tried again for him
    │   └── Silent         a watch said nothing for too long: reconnect where it left off
    ├── Unreadable         an answer that is not what was asked for: report it
    └── Refused            the server said no, and why (`status`)
        ├── NotFound       there is no such object: deletion is done, creation is needed
        ├── AlreadyExists  there is one of that name: read it, then decide
        ├── Conflict       it changed since it was read: read again, decide again
        ├── Gone           that version is forgotten (410, Expired): list anew
        ├── Invalid        the object breaks a rule (`causes` name the fields): fix it
        ├── Forbidden      we may not: tell the person which right is missing
        ├── Unauthorized   the server does not know us: renew the credentials
        └── TooManyRequests  not now (`retry_after`), or a disruption budget says no (`budget`)

Decoded from the `Status` object by its reason, then by its code; never from its text.
"""

from http import HTTPStatus
from typing import Final

from msgspec import Struct

# --- Status, as the API server writes it ---------------------------------------------------


class Cause(Struct, frozen=True, gc=False):
    """One thing wrong: `reason` is a word for programs, `field` a path such as spec.replicas."""

    reason: str = ""
    message: str = ""
    field: str = ""


class Details(Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[Cause] | None = None
    retry_after_seconds: int = 0


class Status(Struct, frozen=True, gc=False):
    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        return tuple((self.details and self.details.causes) or ())

    @property
    def retry_after(self) -> float | None:
        seconds = self.details.retry_after_seconds if self.details else 0
        return float(seconds) if seconds else None


# --- the tree ------------------------------------------------------------------------------


class KubeError(Exception):
    """Anything that went wrong between us and the API server."""


class Misconfigured(KubeError):
    """How to reach the API server is not known; the sentence names file and field."""


class Unreadable(KubeError):
    """The server's answer is not of the type that was asked for."""


class Unavailable(KubeError):
    """Nobody answered, or not with an answer; `retry_after` if the server named a time."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unreachable(Unavailable):
    """The connection could not be made, or broke before the answer was whole."""


class Silent(Unavailable):
    """A watch brought not one byte although bookmarks were due."""


class Refused(KubeError):
    """The server said no; also the class of every refusal that has no class of its own."""

    def __init__(self, status: Status, retry_after: float | None = None) -> None:
        super().__init__(status.message or status.reason or f"HTTP {status.code}")
        self.status = status
        self.retry_after = retry_after if retry_after is not None else status.retry_after

    @property
    def causes(self) -> tuple[Cause, ...]:
        return self.status.causes


class NotFound(Refused):
    """There is no such object, or no such kind."""


class AlreadyExists(Refused):
    """An object of that name is there already."""


class Conflict(Refused):
    """The object changed since it was read, or its precondition does not hold."""


class Gone(Refused):
    """The version or continue token asked for is forgotten."""


class Invalid(Refused):
    """The object breaks a rule; `causes` say which field and why."""


class Forbidden(Refused):
    """We lack the right."""

    @property
    def namespace_ends(self) -> bool:
        """Nothing can be created in a namespace that is being deleted: stop, do not complain."""
        return any(cause.reason == "NamespaceTerminating" for cause in self.causes)


class Unauthorized(Refused):
    """The server does not know who we are."""


class TooManyRequests(Refused):
    """Not now."""

    @property
    def budget(self) -> bool:
        """An eviction refused by a PodDisruptionBudget, not a busy server."""
        return any(cause.reason == "DisruptionBudget" for cause in self.causes)


# --- decoding ------------------------------------------------------------------------------

BY_REASON: Final[dict[str, type[Refused]]] = {
    "NotFound": NotFound,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Gone": Gone,
    "Expired": Gone,
    "Invalid": Invalid,
    "Forbidden": Forbidden,
    "Unauthorized": Unauthorized,
    "TooManyRequests": TooManyRequests,
}
BY_CODE: Final[dict[int, type[Refused]]] = {
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Gone,
    HTTPStatus.UNPROCESSABLE_ENTITY: Invalid,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.TOO_MANY_REQUESTS: TooManyRequests,
}


def error_of(status: Status, retry_after: float | None = None) -> Refused | Unavailable:
    """The error a Status stands for; `retry_after` is the header's, which outranks the body's."""
    kind = BY_REASON.get(status.reason) or BY_CODE.get(status.code)
    if kind is not None:
        return kind(status, retry_after)
    if status.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        after = retry_after if retry_after is not None else status.retry_after
        return Unavailable(f"HTTP {status.code}: {status.message or status.reason}", after)
    return Refused(status, retry_after)
