"""Sets of cores or devices as plain integers: bit 3 is core 3, so & and | are the set algebra.

>>> cores = parse("0-3,8")
>>> bin(cores), count(cores), ranges(cores), hexadecimal(cores)
('0b100001111', 5, '0-3,8', '0x10F')
>>> ranges(cores & parse("0x0f"))
'0-3'
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from windlass.values.malformed import Malformed

MAX_BITS: Final = 1 << 20
"""More cores than a Slurm cluster has; what says more is a mistake."""

_RANGE: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_HEX: Final = re.compile(r"0[xX][0-9a-fA-F]+")
_NONE: Final = frozenset({"", "N/A", "(null)"})


def parse(text: str) -> int:
    """Read Slurm's `0-3,8` or a mask `0x10F`; Slurm's several words for nothing are 0."""
    if text in _NONE:
        return 0
    if text[:2].lower() == "0x":
        return _parse_mask(text)
    bits, position = 0, 0
    for part in text.split(","):
        bits |= _parse_range(text, position, part)
        position += len(part) + 1
    return bits


def _parse_mask(text: str) -> int:
    if not _HEX.fullmatch(text):
        raise Malformed("bitmap", text, 2, "this is no hexadecimal number", "write as in 0x0F")
    if len(text) > MAX_BITS // 4:
        raise Malformed("bitmap", text, 0, f"there are more than {MAX_BITS} bits", "use fewer")
    return int(text, 16)


def _parse_range(text: str, position: int, part: str) -> int:
    found = _RANGE.fullmatch(part)
    if not found:
        raise Malformed("bitmap", text, position, f"{part!r} is no range", "write as in 0-3,8")
    low, high = int(found[1]), int(found[2] or found[1])
    if high < low:
        problem = f"the range {part} runs downward"
        raise Malformed("bitmap", text, position, problem, f"write {high}-{low}")
    if high >= MAX_BITS:
        raise Malformed("bitmap", text, position, f"{high} is too large", f"stay below {MAX_BITS}")
    return (1 << (high + 1)) - (1 << low)


def of(indices: Iterable[int]) -> int:
    """The set of these indices."""
    bits = 0
    for index in indices:
        bits |= 1 << index
    return bits


def indices(bits: int) -> Iterator[int]:
    """The members, from the lowest."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def count(bits: int) -> int:
    return bits.bit_count()


def ranges(bits: int) -> str:
    """Write as Slurm writes lists: `0-3,8`."""
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in _runs(bits))


def _runs(bits: int) -> Iterator[tuple[int, int]]:
    offset = 0
    while bits:
        zeros = (bits & -bits).bit_length() - 1
        bits >>= zeros
        ones = (~bits & (bits + 1)).bit_length() - 1
        offset += zeros
        yield offset, offset + ones - 1
        bits >>= ones
        offset += ones


def hexadecimal(bits: int) -> str:
    """Write as Slurm writes masks: `0x10F`."""
    return f"0x{bits:X}"
