"""Slurm's short numbers: `4K` is 4096, and memory without a letter is in MiB.

>>> count("4K"), mebibytes("16G"), mebibytes("512")
(4096, 16384, 512)
>>> print_mebibytes(16384), print_mebibytes(65535)
('16G', '65535M')
"""

import math
import re
from fractions import Fraction
from typing import Final

from windlass.values.malformed import Malformed

_LETTERS: Final = "KMGTP"
_SHAPE: Final = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,9})?)([KMGTP]?)", re.IGNORECASE)


def count(text: str) -> int:
    """Read a number of things; each letter is another factor of 1024."""
    return _read(text, unlettered=0, unit=0)


def mebibytes(text: str) -> int:
    """Read memory; less than a whole MiB counts as one, since 0 means all memory to Slurm."""
    return _read(text, unlettered=2, unit=2)


def _read(text: str, *, unlettered: int, unit: int) -> int:
    shape = _SHAPE.fullmatch(text)
    if not shape:
        raise Malformed("amount", text, 0, f"{text!r} is no amount", "write as in 4, 4K or 16G")
    power = _LETTERS.index(shape[2].upper()) + 1 if shape[2] else unlettered
    return math.ceil(Fraction(shape[1]) * Fraction(1024) ** (power - unit))


def is_count(text: str) -> bool:
    return _SHAPE.fullmatch(text) is not None


def print_mebibytes(amount: int) -> str:
    """Write memory as Slurm does: with the largest letter that keeps it exact."""
    power = 1
    while amount and amount % 1024 == 0 and power < len(_LETTERS) - 1:
        amount //= 1024
        power += 1
    return f"{amount}{_LETTERS[power]}"
