"""Names in the order in which people count.

>>> sorted(["w-10", "w-9", "a"], key=natural)
['a', 'w-9', 'w-10']
"""

import re
from typing import Final

_DIGITS: Final = re.compile(r"([0-9]+)")


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    parts = _DIGITS.split(name)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)
