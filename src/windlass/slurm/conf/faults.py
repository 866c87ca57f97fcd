"""What is wrong with a configuration file: where, which key, what and the fix.

>>> print(Fault(Where("extraConf", 3, 1), "Foo", "Slurm knows no such key", "take it out"))
extraConf, line 3: Foo: Slurm knows no such key; take it out
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple


class Where(NamedTuple):
    """A place in a file; line and column count from 1, and 0 is a place that is not known."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}" if self.line else self.file


NOWHERE = Where()


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing to put right. The key is empty where none could be read."""

    where: Where
    key: str
    problem: str
    fix: str

    def __str__(self) -> str:
        place = ": ".join(filter(None, (str(self.where), self.key)))
        sentence = f"{self.problem}; {self.fix}"
        return f"{place}: {sentence}" if place else sentence


class Broken(ValueError):
    """The text is no such file. Whoever wrote it is shown every fault, not only the first."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


class Unwritable(ValueError):
    """A value that no configuration file of Slurm can hold, since it has no way to write it."""

    def __init__(self, key: str, problem: str, fix: str) -> None:
        self.key = key
        self.problem = problem
        self.fix = fix
        super().__init__(f"{key}: {problem}; {fix}")
