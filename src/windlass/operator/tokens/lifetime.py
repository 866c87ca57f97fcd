"""How long a token lives, as claims have it."""

from typing import Final

from windlass.api import durations

LONGEST: Final = 2**31 - 2
"""What Slurm takes for endless, in seconds."""


def seconds(text: str) -> int:
    """Whole seconds; a text of another shape is refused by the definition."""
    return min(int(durations.seconds(text)), LONGEST)
