"""Slurm's hostlists: many node names as one short text, both ways.

Order is rank, so it is kept, and so are duplicates; nothing here sorts.

>>> expand("w-[08-10],x3")
('w-08', 'w-09', 'w-10', 'x3')
>>> fold(["b2", "b1", "b3", "b4"])
'b[2,1,3-4]'
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from math import prod
from typing import Final, NamedTuple

from windlass.values.malformed import Malformed

MAX_NAMES: Final = 65_536
"""Slurm has no more nodes than this, and refuses a longer range."""

MAX_LENGTH: Final = 255
"""No host's name is longer; without a bound a short text could stand for gigabytes of names."""

_DIGITS: Final = "0123456789"
_COUNTED: Final = 18  # digits of a number that Slurm's 64 bits hold whatever the digits are
_SEPARATORS: Final = re.compile(r"[\s,]*")
_ITEM: Final = re.compile(r"[^\s,\[\]]*(?:\[[^\[\]]*\][^\s,\[\]]*)*")
_BRACKETS: Final = re.compile(r"\[([^\[\]]*)\]")
_RANGE: Final = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_UNSAFE: Final = re.compile(r"[\s,\[\]]")


class _Range(NamedTuple):
    """Numbers from low to high; the width of the first is the least width of all."""

    first: str
    low: int
    high: int

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    @property
    def width(self) -> int:
        return max(len(self.first), len(str(self.high)))

    def numbers(self) -> Iterable[str]:
        if self.size == 1:
            return (self.first,)
        if not self.first.startswith("0"):
            return map(str, range(self.low, self.high + 1))
        width = len(self.first)
        return (f"{number:0{width}d}" for number in range(self.low, self.high + 1))


def expand(text: str, *, limit: int = MAX_NAMES) -> tuple[str, ...]:
    """Every name of a hostlist, in rank order; more than `limit` of them are refused unmade."""
    names: list[str] = []
    for position, item in _items(text):
        brackets = _brackets(text, position, item)
        if len(names) + _size(brackets) > limit:
            raise _wrong(text, position, f"there are more than {limit} names", "name fewer nodes")
        if _length(item, brackets) > MAX_LENGTH:
            problem = f"a name has more than {MAX_LENGTH} characters"
            raise _wrong(text, position, problem, "shorten it")
        names += _product(item, brackets) if brackets else [item]
    return tuple(names)


def _items(text: str) -> Iterator[tuple[int, str]]:
    """The parts between commas outside brackets, each with its position."""
    at = 0
    while True:
        at = _end(_SEPARATORS, text, at)
        if at == len(text):
            return
        end = _end(_ITEM, text, at)
        if text[end : end + 1] in ("[", "]"):
            raise _stray_bracket(text, end)
        yield at, text[at:end]
        at = end


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _brackets(text: str, position: int, item: str) -> list[list[_Range]]:
    if "[" not in item:
        return []
    return [
        _ranges(text, position + found.start(1), found[1]) for found in _BRACKETS.finditer(item)
    ]


def _size(brackets: list[list[_Range]]) -> int:
    return prod(sum(part.size for part in parts) for parts in brackets) if brackets else 1


def _length(item: str, brackets: list[list[_Range]]) -> int:
    """The length of the longest name."""
    if not brackets:
        return len(item)
    literals = sum(map(len, _BRACKETS.split(item)[::2]))
    return literals + sum(max(part.width for part in parts) for parts in brackets)


def _product(item: str, brackets: list[list[_Range]]) -> list[str]:
    # Slurm's own order, and so rank: the last bracket turns fastest, then the first, the second...
    literals = _BRACKETS.split(item)[::2]
    *slow, fast = [[number for part in parts for number in part.numbers()] for parts in brackets]
    heads = [literals[0]]
    for literal, numbers in zip(literals[1:-1], slow, strict=True):
        heads = [f"{head}{number}{literal}" for number in numbers for head in heads]
    return [f"{head}{number}{literals[-1]}" for head in heads for number in fast]


def _ranges(text: str, position: int, inside: str) -> list[_Range]:
    ranges = []
    for part in inside.split(","):
        ranges.append(_range(text, position, part))
        position += len(part) + 1
    return ranges


def _range(text: str, position: int, part: str) -> _Range:
    found = _RANGE.fullmatch(part)
    if not found:
        problem = f"{part!r} is no number and no range" if part else "a number is missing"
        raise _wrong(text, position, problem, "write numbers and ranges as in [0-3,7]")
    first, last = found[1], found[2] or found[1]
    if first == last:
        return _Range(first, 0, 0)
    if max(len(first), len(last)) > MAX_LENGTH or len(last.lstrip("0")) > _COUNTED:
        raise _wrong(text, position, f"{part} has too many digits", f"use at most {_COUNTED}")
    low, high = int(first), int(last)
    if high < low:
        fix = f"write {last}-{first}, or list the numbers to count down"
        raise _wrong(text, position, f"the range {part} runs downward", fix)
    return _Range(first, low, high)


def fold(names: Iterable[str]) -> str:
    """One hostlist that expands to exactly these names in this order, written as Slurm does."""
    items: list[str] = []
    for stem, group in groupby(_checked(names), _stem):
        items += _folded(stem, [name[len(stem) :] for name in group])
    return ",".join(items)


def _folded(stem: str, tails: list[str]) -> Iterator[str]:
    for numbered, some in groupby(tails, bool):
        if numbered:
            yield stem + _bracketed(some)
        else:
            yield from (stem for _ in some)


def _checked(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if not name:
            raise Malformed("node name", name, 0, "it is empty", "leave it out")
        if unsafe := _UNSAFE.search(name):
            problem = f"{unsafe[0]!r} has a meaning of its own in hostlists"
            raise Malformed("node name", name, unsafe.start(), problem, "use - instead")
        yield name


def _stem(name: str) -> str:
    return name.rstrip(_DIGITS)


def _bracketed(tails: Iterable[str]) -> str:
    runs = list(_runs(tails))
    first, last = runs[0]
    if len(runs) == 1 and first == last:
        return first
    inside = ",".join(first if first == last else f"{first}-{last}" for first, last in runs)
    return f"[{inside}]"


def _runs(tails: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Numbers that count up by one, as first and last."""
    tails = iter(tails)
    first = last = next(tails)
    count = 1
    for tail in tails:
        # Slurm folds longer runs and then cannot read them; ours end where its reading does.
        if count < MAX_NAMES and _follows(last, tail):
            last = tail
            count += 1
        else:
            yield first, last
            first = last = tail
            count = 1
    yield first, last


def _follows(last: str, tail: str) -> bool:
    """Whether the range that ends with `last` may go on: 09, 10 and 99, 100, but not 9, 010."""
    grown = len(tail) - len(last)
    if grown not in (0, 1) or len(tail) > _COUNTED or (grown and tail[0] == "0"):
        return False
    return int(tail) == int(last) + 1


def _wrong(text: str, position: int, problem: str, fix: str) -> Malformed:
    return Malformed("hostlist", text, position, problem, fix)


def _stray_bracket(text: str, position: int) -> Malformed:
    if text[position] == "]":
        return _wrong(text, position, "this ] closes nothing", "put a [ before it or take it out")
    following = re.search(r"[\[\]]", text[position + 1 :])
    if following and following[0] == "[":
        return _wrong(text, position, "brackets stand within brackets", "close [ before the next")
    return _wrong(text, position, "this [ is never closed", "put a ] after its numbers")
