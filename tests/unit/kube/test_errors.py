"""A Status is turned into the decision it calls for, by reason and code."""

import pytest

from windlass.kube.errors import (
    AlreadyExists,
    Cause,
    Conflict,
    Details,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    Refused,
    Status,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    error_of,
)


@pytest.mark.parametrize(
    ("code", "reason", "want"),
    [
        (404, "NotFound", NotFound),
        (404, "", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (409, "", Conflict),
        (410, "Expired", Gone),
        (410, "Gone", Gone),
        (422, "Invalid", Invalid),
        (403, "Forbidden", Forbidden),
        (401, "Unauthorized", Unauthorized),
        (429, "TooManyRequests", TooManyRequests),
        (400, "BadRequest", Refused),
        (405, "MethodNotAllowed", Refused),
        (500, "InternalError", Unavailable),
        (500, "ServerTimeout", Unavailable),
        (503, "", Unavailable),
        (504, "Timeout", Unavailable),
    ],
)
def test_each_status_has_its_class(code: int, reason: str, want: type[KubeError]) -> None:
    assert type(error_of(Status(code, reason))) is want


def test_the_text_of_a_status_decides_nothing() -> None:
    assert type(error_of(Status(400, "BadRequest", "not found, conflict, gone"))) is Refused


def test_an_invalid_object_names_its_fields() -> None:
    causes = [Cause("FieldValueInvalid", "must be positive", "spec.replicas")]
    error = error_of(Status(422, "Invalid", details=Details(causes=causes)))
    assert isinstance(error, Invalid)
    assert [cause.field for cause in error.causes] == ["spec.replicas"]


@pytest.mark.parametrize(("header", "want"), [(None, 7.0), (3.0, 3.0), (0.0, 0.0)])
def test_the_header_says_when_to_come_back_before_the_body(
    header: float | None, want: float
) -> None:
    status = Status(429, "TooManyRequests", details=Details(retry_after_seconds=7))
    error = error_of(status, header)
    assert isinstance(error, TooManyRequests)
    assert error.retry_after == want
    unavailable = error_of(Status(503, details=Details(retry_after_seconds=7)), header)
    assert isinstance(unavailable, Unavailable)
    assert unavailable.retry_after == want


def test_a_budget_is_told_from_a_busy_server() -> None:
    causes = [Cause("DisruptionBudget", "needs 3 healthy pods")]
    budget = error_of(Status(429, "TooManyRequests", details=Details(causes=causes)))
    busy = error_of(Status(429, "TooManyRequests"))
    assert isinstance(budget, TooManyRequests)
    assert isinstance(busy, TooManyRequests)
    assert (budget.budget, busy.budget) == (True, False)


def test_a_namespace_that_ends_is_told_from_a_missing_right() -> None:
    causes = [Cause("NamespaceTerminating")]
    ends = error_of(Status(403, "Forbidden", details=Details(causes=causes)))
    assert isinstance(ends, Forbidden)
    assert ends.namespace_ends
    lacking = error_of(Status(403, "Forbidden"))
    assert isinstance(lacking, Forbidden)
    assert not lacking.namespace_ends
