"""What a configuration file may hold: its keys, their kinds, and the lines that are records.

The tables themselves are in keys.py; reading, checking and merging are told by a `Format`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final


class Kind(Enum):
    """What Slurm's parser makes of a value; a text may mean more to the daemon that uses it."""

    TEXT = "a text"
    U16 = "a number up to 65535"
    U32 = "a number up to 4294967295"
    U64 = "a number up to 18446744073709551615"
    DECIMAL = "a number"
    BOOLEAN = "YES or NO"


MOST: Final[Mapping[Kind, int]] = {
    Kind.U16: 2**16 - 1,
    Kind.U32: 2**32 - 1,
    Kind.U64: 2**64 - 1,
}


@dataclass(frozen=True, slots=True)
class Key:
    """A key as Slurm's manual spells it; Slurm itself does not look at the case."""

    name: str
    kind: Kind


Keys = Mapping[str, Key]
"""By lower-case name."""


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of file. Keys are in lower case where nothing else is said."""

    file: str
    parameters: Keys
    records: Mapping[str, Keys] = field(default_factory=dict)
    """The keys that may follow on the line that begins with this key; this one as it is spelt."""
    repeated: frozenset[str] = frozenset()
    """Keys whose every line counts; of all others Slurm takes the last."""
    unique: frozenset[str] = frozenset()
    """Records of which Slurm refuses, or passes over, a second one with the same name."""
    joined: frozenset[str] = frozenset()
    """Lists of options, that a merge joins item by item."""
    removed: Mapping[str, str] = field(default_factory=dict)
    """Keys that are known only to be refused, and what to write instead."""

    def record_keys(self, key: str) -> Keys | None:
        """What may follow on a line that begins with this key; None if such a line is no record."""
        wanted = key.lower()
        return next((keys for name, keys in self.records.items() if name.lower() == wanted), None)


def table(  # noqa: PLR0913 - a table has a column for each kind
    *,
    text: str = "",
    u16: str = "",
    u32: str = "",
    u64: str = "",
    decimal: str = "",
    boolean: str = "",
) -> Keys:
    """Keys by their kinds, each a text of names."""
    columns = {
        Kind.TEXT: text,
        Kind.U16: u16,
        Kind.U32: u32,
        Kind.U64: u64,
        Kind.DECIMAL: decimal,
        Kind.BOOLEAN: boolean,
    }
    return {
        name.lower(): Key(name, kind) for kind, names in columns.items() for name in names.split()
    }
