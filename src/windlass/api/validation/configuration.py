"""Slurm configuration that users write into a field.

Only what every Slurm refuses is refused. A key that we do not know may be one of a newer Slurm, so
it is a caution.
"""

import re
from collections.abc import Iterator
from typing import Final

from windlass.api.validation.findings import Caution, Finding, Problem
from windlass.slurm.conf import (
    SLURM_CONF,
    Broken,
    Document,
    Fault,
    Format,
    Pair,
    check,
    parse,
    unknown_keys,
)

_WORD: Final = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_EXAMPLES: Final = {
    "NodeName": "write words like Weight=10 Features=fast",
    "PartitionName": "write words like State=UP MaxTime=UNLIMITED",
}


def lines(field: str, text: str, form: Format, owned: frozenset[str]) -> Iterator[Finding]:
    """Lines that are added to a file, in which the operator sets the owned keys itself."""
    try:
        document = parse(text, form, field)
    except Broken as broken:
        yield from (_on_line(Problem, field, fault) for fault in broken.faults)
        return
    unknown = unknown_keys(document, form)
    for fault in check(document, form):
        yield _on_line(Caution if fault in unknown else Problem, field, fault)
    for pair in _settings(document):
        if pair.key.lower() in owned:
            problem = "the operator sets it, and this takes its place"
            fault = Fault(pair.where, pair.key, problem, "leave it out unless you know why")
            yield _on_line(Caution, field, fault)


def words(field: str, text: str, record: str) -> Iterator[Finding]:
    """Key=Value words that are added to a NodeName or PartitionName line."""
    odd = [word for word in _WORD.findall(text) if not word.partition("=")[1] or word[0] == "="]
    if odd:
        yield Problem(field, f"{odd[0]!r} is not Key=Value", _EXAMPLES[record])
        return
    try:
        document = parse(f"{record}=DEFAULT {' '.join(text.split())}", SLURM_CONF)
    except Broken as broken:
        yield from (_in_words(Problem, field, fault) for fault in broken.faults)
        return
    unknown = unknown_keys(document, SLURM_CONF)
    for fault in check(document, SLURM_CONF):
        yield _in_words(Caution if fault in unknown else Problem, field, fault)


def _settings(document: Document) -> Iterator[Pair]:
    yield from document.pairs()
    yield from (record.name for record in document.records())


def _on_line(sort: type[Problem | Caution], field: str, fault: Fault) -> Finding:
    place = f"line {fault.where.line}: " if fault.where.line else ""
    return sort(field, place + _sentence(fault), fault.fix)


def _in_words(sort: type[Problem | Caution], field: str, fault: Fault) -> Finding:
    return sort(field, _sentence(fault), fault.fix)


def _sentence(fault: Fault) -> str:
    return f"{fault.key}: {fault.problem}" if fault.key else fault.problem
