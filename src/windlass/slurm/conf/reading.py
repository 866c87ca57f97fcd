"""Reads a configuration file as Slurm's own parser does, but says where and why it fails.

Slurm works in this order, and so do we: cut the comment, join continued lines, take backslashes
out, and only then look for keys and quotes. So a # begins a comment even within quotes.

Some slips that Slurm passes over are refused, because what it makes of them is never what the
writer meant: `Key+=Value` (it replaces, and does not add), a quote that is never closed (it
becomes part of the value), blanks that are not ASCII (they become part of a name).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from windlass.slurm.conf.faults import Broken, Fault, Unwritable, Where
from windlass.slurm.conf.formats import Format
from windlass.slurm.conf.lines import (
    Blank,
    Comment,
    Document,
    Include,
    Line,
    Pair,
    Parameter,
    Record,
)

_BLANKS: Final = " \t\v\f\r"
_COMMENT: Final = re.compile(r"((?:[^\\#]|\\.)*)#(.*)", re.DOTALL)
_BACKSLASHES: Final = re.compile(r"\\+$")
_ESCAPE: Final = re.compile(r"\\(.?)", re.DOTALL)
_INCLUDE: Final = re.compile(r"include(?=[ \t\v\f\r]|$)[ \t\v\f\r]*([^ \t\v\f\r]*)", re.IGNORECASE)
_PAIR: Final = re.compile(
    r"([A-Za-z0-9_.]+)[ \t\v\f\r]*([-+*/]?)=([ \t\v\f\r]*)"
    r'(?:"([^"]*)"(?=[ \t\v\f\r]|$)|([^ \t\v\f\r]+))'
)
_ODD_BLANK: Final = re.compile(r"[^\S \t\v\f\r]|\ufeff")
_WORD: Final = re.compile(r"[^ \t\v\f\r]+")


class _Wrong(Exception):
    def __init__(self, offset: int, key: str, problem: str, fix: str) -> None:
        self.offset = offset
        self.key = key
        self.problem = problem
        self.fix = fix


@dataclass(frozen=True, slots=True)
class _Logical:
    """One line as Slurm sees it, with the physical lines that it was made of."""

    file: str
    pieces: tuple[tuple[int, str], ...]
    comment: str | None

    @property
    def text(self) -> str:
        return _ESCAPE.sub(r"\1", "".join(piece for _, piece in self.pieces))

    def where(self, offset: int) -> Where:
        """The place of a character of `text`, found again among backslashes and joints."""
        for line, piece in self.pieces:
            length = len(_ESCAPE.sub(r"\1", piece))
            if offset < length or (line, piece) == self.pieces[-1]:
                return Where(self.file, line, _raw_offset(piece, offset) + 1)
            offset -= length
        raise AssertionError("a logical line has at least one piece")


def parse(text: str, form: Format, file: str = "") -> Document:
    """Read a whole file; `file` is what faults call it, if not by the name of its format."""
    lines: list[Line] = []
    faults: list[Fault] = []
    for logical in _logical_lines(text, file or form.file):
        try:
            lines.append(_line(logical, form))
        except _Wrong as wrong:
            where = logical.where(wrong.offset)
            faults.append(Fault(where, wrong.key, wrong.problem, wrong.fix))
        except Unwritable as odd:
            faults.append(Fault(logical.where(0), odd.key, odd.problem, odd.fix))
    if faults:
        raise Broken(faults)
    return Document(tuple(lines))


# --- from text to logical lines ---------------------------------------------------------------


def _logical_lines(text: str, file: str) -> Iterator[_Logical]:
    pieces: list[tuple[int, str]] = []
    comments: list[str] = []
    physical = text.removesuffix("\n").split("\n") if text else []
    for number, raw in enumerate(physical, start=1):
        body, comment = _cut_comment(raw.rstrip("\r"))
        comments += [] if comment is None else [comment]
        body, continued = _cut_continuation(body)
        pieces.append((number, body))
        if not continued or number == len(physical):
            yield _Logical(file, tuple(pieces), " ".join(comments) if comments else None)
            pieces, comments = [], []


def _cut_comment(raw: str) -> tuple[str, str | None]:
    if "#" not in raw:
        return raw, None
    found = _COMMENT.fullmatch(raw)
    return (found[1], found[2]) if found else (raw, None)


def _cut_continuation(body: str) -> tuple[str, bool]:
    stripped = body.rstrip(_BLANKS)
    found = _BACKSLASHES.search(stripped)
    if found and len(found[0]) % 2:
        return stripped[:-1], True
    return body, False


def _raw_offset(piece: str, offset: int) -> int:
    if "\\" not in piece:
        return offset
    raw = 0
    for _ in range(offset):
        raw += 2 if piece[raw : raw + 1] == "\\" else 1
    return min(raw, len(piece))


# --- from a logical line to a line --------------------------------------------------------------


def _line(logical: _Logical, form: Format) -> Line:
    text = logical.text
    if not text.strip(_BLANKS):
        return Blank() if logical.comment is None else Comment(logical.comment)
    _check_nul(text)
    start = len(text) - len(text.lstrip(_BLANKS))
    if found := _INCLUDE.match(text, start):
        return _include(logical, text, found)
    pairs = _pairs(logical, text, start, form)
    comment = logical.comment or ""
    if form.record_keys(pairs[0].key) is not None:
        return Record(pairs[0], tuple(pairs[1:]), comment)
    return Parameter(pairs[0], comment)


def _include(logical: _Logical, text: str, found: re.Match[str]) -> Include:
    if not found[1]:
        raise _Wrong(
            found.start(), "Include", "there is no path", "write Include /etc/slurm/x.conf"
        )
    if text[found.end() :].strip(_BLANKS):
        raise _Wrong(found.end(), "Include", "there is more than a path", "include one file a line")
    _check_blanks(found[1], found.start(1), "Include")
    return Include(found[1], logical.comment or "", logical.where(found.start()))


def _pairs(logical: _Logical, text: str, at: int, form: Format) -> list[Pair]:
    pairs: list[Pair] = []
    while at < len(text):
        found = _PAIR.match(text, at)
        if not found:
            raise _no_pair(text, at, pairs, logical)
        if pairs and form.record_keys(pairs[0].key) is None:
            raise _second_pair(text, at, pairs[0])
        _check_pair(found, form, pairs, logical)
        value = found[5] if found[4] is None else found[4]
        pairs.append(Pair(found[1], value, logical.where(at)))
        at = _skip_blanks(text, found.end())
    return pairs


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


# --- what is refused ------------------------------------------------------------------------------


def _check_nul(text: str) -> None:
    if (at := text.find("\0")) >= 0:
        raise _Wrong(at, "", "there is a NUL character, where Slurm stops reading", "take it out")


def _check_blanks(word: str, at: int, key: str) -> None:
    if odd := _ODD_BLANK.search(word):
        problem = f"there is an odd blank (U+{ord(odd[0]):04X}), to Slurm part of a word"
        raise _Wrong(at + odd.start(), key, problem, "write a plain space")


def _check_pair(found: re.Match[str], form: Format, before: list[Pair], logical: _Logical) -> None:
    key, operator, gap, _, bare = found.groups()
    if operator:
        problem = f"to Slurm {operator}= is the same as =, so this would replace the value"
        raise _Wrong(found.start(), key, problem, "write the whole value after =")
    if key.lower() == "include":
        raise _Wrong(found.start(), key, "Include takes no =", "write Include /path")
    if bare is None:
        return
    _check_blanks(bare, found.start(5), key)
    if bare.startswith('"'):
        raise _open_quote(found.start(5), key, logical)
    names = form.record_keys(before[0].key if before else key) or {}
    if gap and bare.partition("=")[0].lower() in names and "=" in bare:
        problem = f"there is no value, so Slurm would take {bare} for it"
        raise _Wrong(found.start(), key, problem, f'write {key}="" or leave it out')


def _open_quote(at: int, key: str, logical: _Logical) -> _Wrong:
    if logical.comment is not None:
        problem = "the # begins a comment, even within quotes"
        return _Wrong(at, key, problem, r"write \# for a # that is part of the value")
    return _Wrong(at, key, "the quote does not end with the value", "quote the whole value")


def _no_pair(text: str, at: int, pairs: list[Pair], logical: _Logical) -> _Wrong:
    found = _WORD.match(text, at)
    word = found[0] if found else ""
    _check_blanks(word, at, pairs[-1].key if pairs else "")
    key, equals, value = word.partition("=")
    if equals or text[at + len(word) :].lstrip(_BLANKS).startswith("="):
        problem = f"{key} is no key" if value else "there is no value"
        fix = "use letters, digits, _ and ." if value else "write one, or take the line out"
        return _Wrong(at, key, problem, fix)
    if pairs and word.endswith('"'):
        return _open_quote(at, pairs[-1].key, logical)
    if pairs:
        return _Wrong(at, pairs[-1].key, f"{word} stands after the value", "quote the whole value")
    return _Wrong(at, word, "there is no = after it", f"write {word}=VALUE, or # before a comment")


def _second_pair(text: str, at: int, first: Pair) -> _Wrong:
    found = _WORD.match(text, at)
    word = found[0] if found else ""
    problem = f"{word} stands on the same line"
    return _Wrong(at, first.key, problem, "give each parameter a line of its own")
