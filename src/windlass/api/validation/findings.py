"""What a review finds: the field, what is wrong with it, and the fix.

>>> print(Problem("spec.lifetime", "a token must live for some time", "write 15m"))
spec.lifetime: a token must live for some time; write 15m
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    field: str
    sentence: str
    fix: str

    @property
    def advice(self) -> str:
        return f"{self.sentence}; {self.fix}"

    def __str__(self) -> str:
        return f"{self.field}: {self.advice}"


@dataclass(frozen=True, slots=True)
class Problem(Finding):
    """The object is refused."""


@dataclass(frozen=True, slots=True)
class Caution(Finding):
    """The object is taken, with a word to its writer."""


def ratchet(now: Iterable[Finding], before: Iterable[Finding]) -> tuple[Finding, ...]:
    """A fault that was there before warns only: it must not keep anybody from another change."""
    old = frozenset(before)
    return tuple(
        Caution(one.field, one.sentence, one.fix)
        if isinstance(one, Problem) and one in old
        else one
        for one in now
    )
