from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from windlass.api.common import Condition
from windlass.operator.conditions import Verdict, conditions
from windlass.operator.hashes import digest, digest_map
from windlass.values.reason import Reason

FIRST = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
LATER = FIRST + timedelta(minutes=5)
STARTING = Verdict("Ready", status=False, reason=Reason("Starting", "slurmctld starts"))


def read(made: list[dict[str, object]]) -> list[Condition]:
    return msgspec.convert(made, list[Condition])


@pytest.mark.parametrize(
    ("next_verdict", "changed"),
    [
        (Verdict("Ready", status=False, reason=Reason("Pulling", "the image comes")), False),
        (Verdict("Ready", status=True, reason=Reason("Ready", "it answers")), True),
        (Verdict("Ready", status=None, reason=Reason("Silent", "nobody answers")), True),
    ],
)
def test_a_condition_keeps_its_time_until_its_status_changes(
    next_verdict: Verdict, changed: bool
) -> None:
    before = read(conditions(None, [STARTING], 1, FIRST))
    (after,) = read(conditions(before, [next_verdict], 2, LATER))

    moment = LATER if changed else FIRST
    assert after.last_transition_time == moment.replace(microsecond=0)
    assert after.observed_generation == 2
    assert after.reason == next_verdict.reason.code


def test_a_digest_tells_parts_from_their_sum_and_knows_no_order_of_maps() -> None:
    assert digest("a", "b") != digest("ab")
    assert digest_map({"a": "1", "b": b"2"}) == digest_map({"b": "2", "a": b"1"})
    assert digest_map({"a": "1", "b": "2"}) != digest_map({"a": "12", "b": ""})
    assert digest_map({}) == ""
