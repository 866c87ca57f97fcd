"""Finds what Slurm would refuse in a file that reads well: keys, numbers, names given twice.

Slurm commands refuse to start on an unknown key, so this is run before a file reaches a daemon.
An `Include` is not looked into.
"""

import difflib
import re
from collections.abc import Iterator
from typing import Final

from windlass.slurm.conf.faults import Fault
from windlass.slurm.conf.formats import MOST, Format, Key, Keys, Kind
from windlass.slurm.conf.lines import Document, Pair, Parameter, Record
from windlass.values import hostlist
from windlass.values.malformed import Malformed

DEFAULT: Final = "DEFAULT"
"""The name of a record that sets what later records begin with."""

_BOOLEANS: Final = frozenset({"yes", "no", "up", "down", "true", "false", "1", "0"})
_ENDLESS: Final = frozenset({"unlimited", "infinite"})
_NUMBER: Final = re.compile(r"\+?(0x[0-9a-f]+|0[0-7]*|[1-9][0-9]*)(k?)", re.IGNORECASE)
_DECIMAL: Final = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE)


def check(document: Document, form: Format) -> tuple[Fault, ...]:
    """Everything that Slurm would refuse, in the order of the lines where it can be."""
    return (
        *unknown_keys(document, form),
        *_bad_values(document, form),
        *_repeated_names(document, form),
    )


def unknown_keys(document: Document, form: Format) -> tuple[Fault, ...]:
    """Keys that Slurm does not know, each with the known one that is most like it."""
    return tuple(
        _unknown(pair, keys, form)
        for pair, keys in _pairs(document, form)
        if pair.key.lower() not in keys
    )


def _pairs(document: Document, form: Format) -> Iterator[tuple[Pair, Keys]]:
    """Every pair with the keys that may stand there; what begins a record is known by that."""
    for line in document.lines:
        if isinstance(line, Parameter):
            yield line.pair, form.parameters
        elif isinstance(line, Record):
            keys = form.record_keys(line.name.key) or {}
            yield from ((pair, keys) for pair in line.pairs)


def _unknown(pair: Pair, keys: Keys, form: Format) -> Fault:
    key = pair.key.lower()
    if fix := form.removed.get(key):
        return Fault(pair.where, pair.key, "Slurm has done away with this key", fix)
    return Fault(pair.where, pair.key, "Slurm knows no such key here", _advice(key, keys, form))


def _advice(key: str, keys: Keys, form: Format) -> str:
    for name, known in form.records.items():
        if keys is form.parameters and key in known:
            return f"put it on a {name} line"
    if key in form.parameters or form.record_keys(key) is not None:
        return "give it a line of its own"
    alike = difflib.get_close_matches(key, keys, n=1)
    return f"did you mean {keys[alike[0]].name}?" if alike else "take it out"


# --- values -----------------------------------------------------------------------------------


def _bad_values(document: Document, form: Format) -> Iterator[Fault]:
    for pair, keys in _pairs(document, form):
        key = keys.get(pair.key.lower())
        if key and not _fits(pair.value, key.kind):
            problem = f"{pair.value!r} is not {key.kind.value}"
            yield Fault(pair.where, pair.key, problem, _example(key))


def _fits(value: str, kind: Kind) -> bool:
    if kind is Kind.TEXT:
        return True
    if kind is Kind.BOOLEAN:
        return value.lower() in _BOOLEANS
    if not value or value.lower() in _ENDLESS:
        return True
    if kind is Kind.DECIMAL:
        return _DECIMAL.fullmatch(value) is not None
    return _fits_number(value, kind)


def _fits_number(value: str, kind: Kind) -> bool:
    found = _NUMBER.fullmatch(value)
    if not found or (found[2] and kind is Kind.U16):
        return False
    return _number(found[1]) * (1024 if found[2] else 1) <= MOST[kind]


def _number(digits: str) -> int:
    """As C reads it: 0x10 is 16, and 010 is 8."""
    if digits[:2].lower() == "0x":
        return int(digits, 16)
    return int(digits, 8 if digits.startswith("0") else 10)


def _example(key: Key) -> str:
    if key.kind is Kind.BOOLEAN:
        return f"write {key.name}=YES or {key.name}=NO"
    return f"write digits, or {key.name}=UNLIMITED"


# --- names given twice ------------------------------------------------------------------------


def _repeated_names(document: Document, form: Format) -> Iterator[Fault]:
    seen: dict[tuple[str, str], Pair] = {}
    for line in document.records():
        key = line.name.key.lower()
        if key not in form.unique or line.name.value.upper() == DEFAULT:
            continue
        try:
            names = names_of(line)
        except Malformed as error:
            yield Fault(line.name.where, line.name.key, error.problem, error.fix)
            continue
        again = next((name for name in names if (key, name) in seen), None)
        if again is not None:
            yield _again(line.name, again, seen[key, again])
        seen |= {(key, name): line.name for name in names}


def names_of(line: Record) -> tuple[str, ...]:
    """The names that a record gives: a NodeName is a hostlist, a SlurmctldHost has an address."""
    if line.name.is_for("NodeName"):
        return hostlist.expand(line.name.value)
    if line.name.is_for("SlurmctldHost"):
        return (line.name.value.partition("(")[0],)
    return (line.name.value,)


def _again(pair: Pair, name: str, first: Pair) -> Fault:
    place = f" ({first.where})" if first.where.line else ""
    return Fault(pair.where, pair.key, f"{name} is defined already{place}", "keep one of them")
