"""A configuration file as data: its lines in their order, and how they are written.

Layout is not kept (blanks around `=`, continued lines); order, comments and spelling are. What
can be built can be written and reads back equal.

>>> print(Parameter(Pair("PrologFlags", "Contain"), " as upstream"))
PrologFlags=Contain # as upstream
>>> print(record("NodeName", "n1", Reason="row #3"))
NodeName=n1 Reason="row \\#3"
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from windlass.slurm.conf.faults import NOWHERE, Unwritable, Where

KEY: Final = re.compile(r"[A-Za-z0-9_.]+")
_ESCAPED: Final = re.compile(r"[\\#]")
_FORBIDDEN: Final = re.compile(r"[\n\0]")


@dataclass(frozen=True, slots=True)
class Pair:
    """`Key=Value`; the value is what Slurm understands, without quotes and escapes."""

    key: str
    value: str
    where: Where = field(default=NOWHERE, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not KEY.fullmatch(self.key):
            raise Unwritable(self.key, "this is no key", "use letters, digits, _ and .")
        if _FORBIDDEN.search(self.value):
            raise Unwritable(self.key, "the value has a line break", "write it on one line")
        if '"' in self.value and (self.value.startswith('"') or _spaced(self.value)):
            # Slurm takes backslashes out before it looks for quotes: \" does not help.
            problem = 'Slurm cannot read a " at the start of a value or beside blanks'
            raise Unwritable(self.key, problem, "leave it out")

    def is_for(self, key: str) -> bool:
        return self.key.lower() == key.lower()

    def __str__(self) -> str:
        value = _ESCAPED.sub(r"\\\g<0>", self.value)
        return f'{self.key}="{value}"' if not value or _spaced(value) else f"{self.key}={value}"


@dataclass(frozen=True, slots=True)
class Blank:
    """An empty line."""

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A line of its own; the text is all that follows the #."""

    text: str

    def __post_init__(self) -> None:
        _check_comment(self.text)

    def __str__(self) -> str:
        return f"#{self.text}"


@dataclass(frozen=True, slots=True)
class Include:
    """Another file to be read here. It is kept, never followed."""

    path: str
    comment: str = ""
    where: Where = field(default=NOWHERE, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_comment(self.comment)
        if not self.path or _spaced(self.path) or _FORBIDDEN.search(self.path):
            raise Unwritable("Include", "the path is empty or has blanks", "rename the file")

    def __str__(self) -> str:
        return _commented("Include " + _ESCAPED.sub(r"\\\g<0>", self.path), self.comment)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A setting of the whole cluster or daemon."""

    pair: Pair
    comment: str = ""

    def __post_init__(self) -> None:
        _check_comment(self.comment)

    def __str__(self) -> str:
        return _commented(str(self.pair), self.comment)


@dataclass(frozen=True, slots=True)
class Record:
    """A line about one thing: a node, a partition, a set, a device."""

    name: Pair
    pairs: tuple[Pair, ...] = ()
    comment: str = ""

    def __post_init__(self) -> None:
        _check_comment(self.comment)

    def get(self, key: str) -> str | None:
        """The value that Slurm would use: the last one."""
        return last((self.name, *self.pairs), key)

    def __str__(self) -> str:
        return _commented(" ".join(map(str, (self.name, *self.pairs))), self.comment)


Line = Blank | Comment | Include | Parameter | Record


@dataclass(frozen=True, slots=True)
class Document:
    """The lines of one file."""

    lines: tuple[Line, ...] = ()

    def get(self, key: str) -> str | None:
        """The value of a parameter that Slurm would use: the last one."""
        return last((pair for pair in self.pairs()), key)

    def all(self, key: str) -> tuple[str, ...]:
        """Every value of a parameter that may be repeated."""
        return tuple(pair.value for pair in self.pairs() if pair.is_for(key))

    def pairs(self) -> Iterator[Pair]:
        return (line.pair for line in self.lines if isinstance(line, Parameter))

    def records(self, key: str = "") -> tuple[Record, ...]:
        """The records that begin with this key, or all."""
        found = (line for line in self.lines if isinstance(line, Record))
        return tuple(line for line in found if not key or line.name.is_for(key))

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


def parameter(key: str, value: str | int) -> Parameter:
    return Parameter(Pair(key, str(value)))


def record(key: str, name: str, **pairs: str) -> Record:
    return Record(Pair(key, name), tuple(Pair(*pair) for pair in pairs.items()))


def last(pairs: Iterator[Pair] | tuple[Pair, ...], key: str) -> str | None:
    found = [pair.value for pair in pairs if pair.is_for(key)]
    return found[-1] if found else None


def _spaced(value: str) -> bool:
    return any(map(str.isspace, value))


def _commented(line: str, comment: str) -> str:
    return f"{line} #{comment}" if comment else line


def _check_comment(text: str) -> None:
    if _FORBIDDEN.search(text) or text.endswith("\r"):
        raise Unwritable("#", "the comment has a line break", "write two comments")
