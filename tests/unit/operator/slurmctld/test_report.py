"""Reports of the program beside slurmctld."""

import hashlib
import hmac

import pytest

from windlass.operator.slurmctld.report import Complaint, Report, Untrusted, read

KEY = b"key"
BODY = (
    b'{"candidate": "a", "inForce": "b", "keys": "c", "ok": false, "at": "2026-01-01T00:00:00Z",'
    b' "error": {"file": "slurm.conf", "line": 3, "key": null, "message": "bad"}, "later": 1}'
)


def signed(body: bytes, nonce: str, key: bytes = KEY) -> str:
    return hmac.new(key, nonce.encode() + body, hashlib.sha256).hexdigest()


def test_a_signed_report_is_read() -> None:
    assert read(BODY, signed(BODY, "n"), "n", KEY) == Report(
        candidate="a",
        in_force="b",
        keys="c",
        error=Complaint(file="slurm.conf", line=3, message="bad"),
        at="2026-01-01T00:00:00Z",
    )


@pytest.mark.parametrize(
    "signature",
    [signed(BODY, "older"), signed(BODY, "n", b"other"), signed(b"{}", "n"), "", "é"],
)
def test_a_report_of_somebody_else_is_not_believed(signature: str) -> None:
    with pytest.raises(Untrusted, match="not signed"):
        read(BODY, signature, "n", KEY)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"ok": "yes"}'])
def test_a_report_that_cannot_be_read_is_not_believed(body: bytes) -> None:
    with pytest.raises(Untrusted, match="cannot be read"):
        read(body, signed(body, "n"), "n", KEY)


@pytest.mark.parametrize(
    ("report", "settled"),
    [
        (Report(candidate="a", ok=True), True),
        (Report(candidate="a", error=Complaint(message="x")), True),
        (Report(candidate="a"), False),
        (Report(candidate="b", ok=True), False),
    ],
)
def test_files_are_settled_once_they_are_in_force_or_refused(report: Report, settled: bool) -> None:
    assert report.settled("a") is settled
