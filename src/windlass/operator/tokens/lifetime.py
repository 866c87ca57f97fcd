"""How long a token lives, as Kubernetes writes durations: `15m`, `1h30m`, `2.5s`."""

import re
from typing import Final

LONGEST: Final = 2**31 - 2
"""What Slurm takes for endless, in seconds."""

_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)")
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> int:
    """Whole seconds, as claims have them; a text of another shape is refused by the definition."""
    total = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return min(int(total), LONGEST)
