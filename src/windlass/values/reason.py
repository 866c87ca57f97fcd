"""Why something was refused, waits or failed: the same value in condition, event, log and CLI.

>>> print(Reason("JobsRunning", "2 jobs still run on w-0"))
JobsRunning: 2 jobs still run on w-0
"""

import re
from dataclasses import dataclass
from typing import Final

# What Kubernetes takes as the reason of a condition, and what people expect of one.
_CODE: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")


@dataclass(frozen=True, slots=True)
class Reason:
    """A word for machines and a sentence for people."""

    code: str
    sentence: str

    def __post_init__(self) -> None:
        if not _CODE.fullmatch(self.code):
            raise ValueError(f"the code of a reason is one CamelCase word, not {self.code!r}")
        if not self.sentence:
            raise ValueError(f"reason {self.code} says nothing; give it a sentence")

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"
