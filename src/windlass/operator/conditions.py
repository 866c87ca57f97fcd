"""Conditions: what is so, since when, and why."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from windlass.api.common import Condition
from windlass.values.reason import Reason

LONGEST_MESSAGE: Final = 32_000
Status = Literal["True", "False", "Unknown"]
_STATUS: Final[dict[bool | None, Status]] = {True: "True", False: "False", None: "Unknown"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One condition as a pass sees it; a status of None says that we do not know."""

    type: str
    status: bool | None
    reason: Reason


def conditions(
    old: Iterable[Condition] | None, verdicts: Iterable[Verdict], generation: int, now: datetime
) -> list[dict[str, Any]]:
    """Conditions for a status; one whose status did not change keeps the time of its change."""
    before = {condition.type: condition for condition in old or ()}
    made = (_condition(before.get(verdict.type), verdict, generation, now) for verdict in verdicts)
    return [msgspec.to_builtins(condition) for condition in made]


def _condition(
    old: Condition | None, verdict: Verdict, generation: int, now: datetime
) -> Condition:
    status = _STATUS[verdict.status]
    same = old is not None and old.status == status
    return Condition(
        type=verdict.type,
        status=status,
        reason=verdict.reason.code,
        message=verdict.reason.sentence[:LONGEST_MESSAGE],
        # Kubernetes keeps whole seconds; more would differ from what is read back.
        last_transition_time=old.last_transition_time
        if old is not None and same
        else now.replace(microsecond=0),
        observed_generation=generation,
    )
