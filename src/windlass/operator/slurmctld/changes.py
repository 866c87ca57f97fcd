"""Which changes of slurm.conf a running daemon can take up, and which need a restart.

Since 23.11 `scontrol reconfigure` starts a new process that reads everything anew, so nearly all
changes are in force without a restart. The exceptions were tried on slurmctld 26.05: either the
request cannot be understood any more by the one who should obey it, or the new process ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from windlass.operator.hashes import digest
from windlass.slurm.conf import SLURM_CONF, Broken, Document, parse

SLURMCTLD: Final = "slurmctld"
SLURMD: Final = "slurmd"

# How daemons and commands talk to each other.
_TALK: Final = ("AuthType", "HashPlugin", "TLSType")
RESTARTS: Final = {
    SLURMCTLD: (*_TALK, "ClusterName", "SlurmctldPort", "SlurmUser", "StateSaveLocation"),
    SLURMD: (*_TALK, "SlurmdPort", "SlurmdSpoolDir", "SlurmdUser"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """A key or a record whose lines differ, and the daemons that have to restart for it."""

    key: str
    restarts: frozenset[str] = frozenset()


def changes(old: str, new: str) -> tuple[Change, ...]:
    """What differs between two files, by key; the order of lines and comments do not count."""
    before, after = _lines(old), _lines(new)
    spelling = {**_spelling(old), **_spelling(new)}
    return tuple(
        Change(spelling[key], _restarts(key))
        for key in sorted({*before, *after})
        if before.get(key) != after.get(key)
    )


def restart_part(text: str, daemon: str = SLURMCTLD) -> str:
    """A fingerprint of what this daemon only reads when it starts."""
    conf = _document(text)
    return digest(*(f"{key}={conf.get(key) or ''}" for key in RESTARTS[daemon]))


def _restarts(key: str) -> frozenset[str]:
    return frozenset(
        daemon
        for daemon, keys in RESTARTS.items()
        if key in (restarting.lower() for restarting in keys)
    )


def _document(text: str) -> Document:
    try:
        return parse(text, SLURM_CONF)
    except Broken:
        return Document()


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Key and value of parameters, name and all the rest of records."""
    conf = _document(text)
    yield from ((pair.key, pair.value) for pair in conf.pairs())
    for line in conf.records():
        pairs = " ".join(f"{pair.key}={pair.value}" for pair in line.pairs)
        yield str(line.name), pairs


def _lines(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in _entries(text):
        lower = key.lower()
        if lower in SLURM_CONF.repeated:
            found.setdefault(lower, []).append(value)
        else:
            found[lower] = [value]
    return found


def _spelling(text: str) -> dict[str, str]:
    return {key.lower(): key for key, _ in _entries(text)}
