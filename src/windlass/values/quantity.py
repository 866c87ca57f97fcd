"""Kubernetes quantities, exact: a whole number of billionths, printed as Kubernetes prints.

>>> print(Quantity.parse("1.5Gi"), Quantity.parse("0.5"), Quantity.parse("1000m"))
1536Mi 500m 1
>>> Quantity.parse("100m").cores, Quantity.parse("1k").mebibytes
(1, 1)
"""

import re
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

from windlass.values.malformed import Malformed

_NANO: Final = 10**9
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_SUFFIXES: Final = {power: letter for letter, power in _DECIMAL.items()}
_SHAPE: Final = re.compile(
    r"([+-]?)([0-9]{0,60})(?:\.([0-9]{0,60}))?(?:([KMGTPE]i)|[eE]([+-]?[0-9]{1,2})|([numkMGTPE]?))"
)


class Notation(Enum):
    """How a quantity was written, which Kubernetes keeps when it prints it."""

    DECIMAL = "k M G"
    BINARY = "Ki Mi Gi"
    EXPONENT = "e3 e6 e9"


@dataclass(frozen=True, order=True, slots=True)
class Quantity:
    """An amount of something; 1Gi and 1073741824 are equal, and each prints in its own way."""

    nano: int
    """Billionths, the finest that Kubernetes has."""
    notation: Notation = field(default=Notation.DECIMAL, compare=False)

    @classmethod
    def parse(cls, written: str | int) -> "Quantity":
        """Read a quantity of a manifest, where a plain number may stand without quotes."""
        return _parse(written) if isinstance(written, str) else cls(written * _NANO)

    @property
    def cores(self) -> int:
        """Whole CPUs, rounded up: a request for a little is a request for one."""
        return self.ceil()

    @property
    def mebibytes(self) -> int:
        """Whole MiB, rounded up: rounded down, less than one would be 0, Slurm's word for all."""
        return self.ceil(2**20)

    def ceil(self, unit: int = 1) -> int:
        """How many units hold it all."""
        return -(-self.nano // (unit * _NANO))

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano + other.nano, (self if self.nano else other).notation)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nano - other.nano, (self if self.nano else other).notation)

    def __str__(self) -> str:
        whole, rest = divmod(abs(self.nano), _NANO)
        sign = "-" if self.nano < 0 else ""
        if self.notation is Notation.BINARY and not rest and whole >= 1024:
            return sign + _print_binary(whole)
        return sign + _print_decimal(abs(self.nano), self.notation)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    shape = _SHAPE.fullmatch(text)
    if not shape or not (shape[2] or shape[3]):
        raise _wrong(text)
    sign, whole, part, binary, exponent, letter = shape.groups()
    number = Fraction(int(f"{whole}{part or ''}"), 10 ** len(part or ""))
    if binary:
        number *= 1024 ** _BINARY[binary]
        notation = Notation.BINARY
    else:
        number *= Fraction(10) ** (int(exponent) if exponent else _DECIMAL[letter or ""])
        notation = Notation.EXPONENT if exponent else Notation.DECIMAL
    nano = ceil(number * _NANO)  # away from zero, as Kubernetes does
    return Quantity(-nano if sign == "-" else nano, notation)


def _print_binary(whole: int) -> str:
    power = 0
    while whole % 1024 == 0 and power < 6:
        whole //= 1024
        power += 1
    return f"{whole}{('', *_BINARY)[power]}"


def _print_decimal(nano: int, notation: Notation) -> str:
    if not nano:
        return "0"
    power = -9
    while nano % 1000 == 0 and (power < 18 or notation is Notation.EXPONENT):
        nano //= 1000
        power += 3
    if notation is Notation.EXPONENT:
        return f"{nano}e{power}" if power else str(nano)
    return f"{nano}{_SUFFIXES[power]}"


def _wrong(text: str) -> Malformed:
    number = re.match(r"[+-]?[0-9.]*", text)
    position = number.end() if number else 0
    if position in (0, len(text)):
        problem = "this is no number"
    else:
        problem = f"{text[position:]!r} is no unit"
    return Malformed("quantity", text, position, problem, "write as in 2, 500m, 1.5Gi or 1e3")
