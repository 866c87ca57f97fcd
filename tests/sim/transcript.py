"""What happened in a simulated run: one line each, with the time and who did it."""

import re
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from windlass.testing.virtual import clock

_HASH: Final = re.compile(r"(?<=ControllerRevision w)-[0-9a-f]+")


@dataclass
class Transcript:
    said: list[tuple[float, str, str]] = field(default_factory=list)

    def say(self, who: str, what: str) -> None:
        self.said.append((clock(), who, what))

    def __str__(self) -> str:
        return "\n".join(f"{when:9.2f}  {who:<11} {what}" for when, who, what in self.said)

    def story(self) -> str:
        """Without times and hashes, and each line once where it comes again and again."""
        lines = [f"{who:<11} {_HASH.sub('', what)}" for _, who, what in self.said]
        return "\n".join(line for line, _ in groupby(lines)) + "\n"
