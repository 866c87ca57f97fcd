"""Which writes changed nothing, by the versions in the audit log."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.workers.audit import Audit, Write, kinds, read, without_effect


def write(received: int, version: int | None, name: str = "w-0", *, code: int = 200) -> Write:
    """A patch that was answered half a second after it came."""
    line: dict[str, Any] = {
        "verb": "patch",
        "objectRef": {"resource": "pods", "subresource": "status", "name": name},
        "responseStatus": {"code": code},
        "requestReceivedTimestamp": f"2026-01-02T03:04:{received:02}.000000Z",
        "stageTimestamp": f"2026-01-02T03:04:{received:02}.500000Z",
    }
    if version is not None:
        line["responseObject"] = {"metadata": {"resourceVersion": str(version)}}
    return read(json.dumps(line))


@pytest.mark.parametrize(
    ("writes", "idle"),
    [
        ([write(1, 10), write(2, 11)], []),
        ([write(1, 10), write(2, 10)], [1]),
        ([write(1, 20, "w-1"), write(2, 15)], [1]),
        ([write(2, 15), write(1, 20, "w-1")], [0]),
        ([write(1, 11), write(1, 10, "w-1")], []),
        ([write(1, 20), write(2, None)], []),
        ([write(1, 20), write(2, 20, code=409)], []),
    ],
    ids=[
        "each is newer",
        "the same again",
        "older than what was answered before it",
        "in whatever order they are logged",
        "two at a time",
        "no version in the log",
        "refused",
    ],
)
def test_a_write_without_effect_has_a_version_that_was_known_before(
    writes: list[Write], idle: list[int]
) -> None:
    assert without_effect(writes) == [writes[each] for each in idle]


def test_writes_are_those_after_a_place_in_the_log_without_leases(tmp_path: Path) -> None:
    audit = Audit(tmp_path)
    assert audit.place() == 0
    audit.log.write_text('{"verb":"create","objectRef":{"resource":"pods"}}\n')
    place = audit.place()
    lines = [
        '{"verb":"update","objectRef":{"resource":"leases"}}',
        '{"verb":"patch","objectRef":{"resource":"pods","subresource":"status"}}',
        '{"verb":"patch","objectRef"',
    ]
    with audit.log.open("a") as log:
        log.write("\n".join(lines))
    assert kinds(audit.since(place)) == {"patch pods/status": 1}
