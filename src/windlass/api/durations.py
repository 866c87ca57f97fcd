"""How long, as Kubernetes writes it: `15m`, `1h30m`, `1.5h`.

>>> seconds("1h30m"), seconds("1.5h"), seconds("250ms")
(5400.0, 5400.0, 0.25)
"""

import re
from typing import Final

from windlass.values.malformed import Malformed

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)")


def seconds(text: str) -> float:
    """Read what a field of type `Seconds` holds."""
    total, at = 0.0, 0
    while found := _PART.match(text, at):
        total += float(found[1]) * _UNITS[found[2]]
        at = found.end()
    if at < len(text) or not text:
        raise Malformed("time", text, at, "this is no number with a unit", "write 90s, 15m or 2h")
    return total
