"""Slurm's generic resources: what a node has, what a job asks for, which devices it got.

>>> got, = parse("gpu:h100:4(IDX:0-3)")
>>> got.name, got.type, got.count, got.devices
('gpu', 'h100', 4, 15)
>>> print(got, got.tres)
gpu:h100:4(IDX:0-3) gres/gpu:h100
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from windlass.values import amount, bitmap
from windlass.values.malformed import Malformed

_NONE: Final = frozenset({"", "N/A", "(null)"})
_PREFIX: Final = re.compile(r"gres[/:]")
_ITEM: Final = re.compile(r"([^,()]*)(?:\(([^()]*)\))?")
_FORM: Final = "write as in gpu:2, gpu:h100:2 or gres/gpu:h100=2"


@dataclass(frozen=True, slots=True)
class Gres:
    """One resource; an empty type is any type in a request and no type on a node."""

    name: str
    type: str = ""
    count: int = 1
    note: str = ""
    """What Slurm put in brackets: IDX:0-3 for devices, S:0 for sockets, without the brackets."""
    consumed: bool = True
    """False for what is there but never used up (no_consume)."""

    @property
    def tres(self) -> str:
        """Its name among the trackable resources."""
        return f"gres/{self.name}:{self.type}" if self.type else f"gres/{self.name}"

    @property
    def devices(self) -> int | None:
        """The devices it was given, as a bitmap; None where Slurm does not say."""
        return self._bits("IDX:")

    @property
    def sockets(self) -> int | None:
        """The sockets it is close to, as a bitmap; None where Slurm does not say."""
        return self._bits("S:")

    def _bits(self, label: str) -> int | None:
        return bitmap.parse(self.note[len(label) :]) if self.note.startswith(label) else None

    def __str__(self) -> str:
        words = (self.name, self.type, "" if self.consumed else "no_consume", str(self.count))
        note = f"({self.note})" if self.note else ""
        return ":".join(filter(None, words)) + note


def parse(text: str) -> tuple[Gres, ...]:
    """Read a comma list, with or without `gres/`, with : or = before the count."""
    if text in _NONE:
        return ()
    return tuple(_parse_item(text, *item) for item in _items(text))


def _items(text: str) -> Iterator[tuple[int, str, str]]:
    """Position, body and note of each resource; a note may hold commas of its own."""
    at = 0
    while at <= len(text):
        found = _ITEM.match(text, at)
        end = found.end() if found else at
        if not found or text[end : end + 1] not in ("", ","):
            raise Malformed("gres", text, end, "brackets do not match", "close each ( with a )")
        yield at, found[1], found[2] or ""
        at = end + 1


def _parse_item(text: str, position: int, body: str, note: str) -> Gres:
    body, _, number = _PREFIX.sub("", body, count=1).partition("=")
    name, *words = body.split(":")
    if not number and words and amount.is_count(words[-1]):
        number = words.pop()
    if note.startswith("CNT:"):
        number, note = note.removeprefix("CNT:"), ""
    consumed = "no_consume" not in words
    types = [word for word in words if word != "no_consume"]
    if not name or len(types) > 1 or not all(words):
        raise Malformed("gres", text, position, f"{body!r} is no resource", _FORM)
    try:
        gres = Gres(name, "".join(types), amount.count(number or "1"), note, consumed)
        _ = gres.devices, gres.sockets
    except Malformed as error:
        raise Malformed("gres", text, position, error.problem, error.fix) from None
    return gres
