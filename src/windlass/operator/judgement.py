"""The four conditions that every kind has, from one judgement; and what of it is news."""

from collections.abc import Iterable, Sequence
from typing import Final

from windlass.api.common import Condition
from windlass.operator.conditions import Verdict
from windlass.operator.plan import Tell
from windlass.values.reason import Reason

FINE: Final = Reason("AsWanted", "nothing is wrong")
SETTLED: Final = Reason("Settled", "everything is as the spec wants it")


def ready(reason: Reason) -> tuple[Verdict, ...]:
    """It serves, and all of it is as wanted."""
    return (
        Verdict("Ready", status=True, reason=reason),
        Verdict("Available", status=True, reason=reason),
        Verdict("Progressing", status=False, reason=SETTLED),
        Verdict("Degraded", status=False, reason=FINE),
    )


def underway(reason: Reason, *, available: bool) -> tuple[Verdict, ...]:
    """On its way; it may serve meanwhile."""
    return (
        Verdict("Ready", status=False, reason=reason),
        Verdict("Available", status=available, reason=reason),
        Verdict("Progressing", status=True, reason=reason),
        Verdict("Degraded", status=False, reason=FINE),
    )


def broken(reason: Reason, *, available: bool = False) -> tuple[Verdict, ...]:
    """Somebody must do something; what ran before may still serve."""
    return (
        Verdict("Ready", status=False, reason=reason),
        Verdict("Available", status=available, reason=reason),
        Verdict("Progressing", status=False, reason=reason),
        Verdict("Degraded", status=True, reason=reason),
    )


def news(
    old: Sequence[Condition] | None, verdicts: Iterable[Verdict], action: str
) -> tuple[Tell, ...]:
    """A warning for what is wrong now and was not yet shown."""
    shown = {(each.type, each.status, each.reason) for each in old or ()}
    return tuple(
        Tell(warning=True, reason=each.reason, action=action)
        for each in verdicts
        if each.type == "Degraded" and each.status
        if (each.type, "True", each.reason.code) not in shown
    )
