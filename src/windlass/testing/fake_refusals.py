"""What the fake API server says when it says no: each refusal as the real one would word it."""

from collections.abc import Iterable
from typing import Final

from windlass.kube.errors import Cause, Details, KubeError, Status, error_of
from windlass.kube.kinds import Kind

IMMUTABLE: Final = "field is immutable"


def bad_request(message: str) -> KubeError:
    return error_of(Status(400, "BadRequest", message))


def version_on_creation() -> KubeError:
    """The real server means a 400, and says 500."""
    message = "resourceVersion should not be set on objects to be created"
    return error_of(Status(500, "", message))


def unknown_path(path: str) -> KubeError:
    return error_of(Status(404, "NotFound", f"the server could not find {path}"))


def not_found(kind: Kind, name: str) -> KubeError:
    return _about(kind, name, Status(404, "NotFound", f'{kind.plural} "{name}" not found'))


def already_exists(kind: Kind, name: str) -> KubeError:
    status = Status(409, "AlreadyExists", f'{kind.plural} "{name}" already exists')
    return _about(kind, name, status)


def conflict(kind: Kind, name: str, why: str, causes: Iterable[Cause] = ()) -> KubeError:
    return _about(kind, name, Status(409, "Conflict", f'{kind.plural} "{name}": {why}'), causes)


def invalid(kind: Kind, name: str, causes: Iterable[Cause]) -> KubeError:
    found = list(causes)
    why = ", ".join(f"{cause.field}: {cause.message}" for cause in found)
    return _about(kind, name, Status(422, "Invalid", f'{kind.kind} "{name}": {why}'), found)


def unprocessable(message: str) -> KubeError:
    """A patch that does not fit the object."""
    return error_of(Status(422, "Invalid", message))


def namespace_ends(kind: Kind, name: str, namespace: str) -> KubeError:
    message = f"namespace {namespace} is being terminated"
    cause = Cause("NamespaceTerminating", message, "metadata.namespace")
    return _about(kind, name, Status(403, "Forbidden", message), [cause])


def expired(version: int) -> Status:
    return Status(410, "Expired", f"too old resource version: {version}")


def too_new(version: int) -> KubeError:
    return error_of(Status(504, "Timeout", f"too large resource version: {version}"))


def budget_refuses(kind: Kind, pod: str, budget: str) -> KubeError:
    cause = Cause("DisruptionBudget", f"the disruption budget {budget} allows none now")
    message = "cannot evict the pod: it would violate its disruption budget"
    return _about(kind, pod, Status(429, "TooManyRequests", message), [cause])


def _about(kind: Kind, name: str, status: Status, causes: Iterable[Cause] = ()) -> KubeError:
    details = Details(name=name, group=kind.group, kind=kind.plural, causes=list(causes) or None)
    return error_of(Status(status.code, status.reason, status.message, details))
