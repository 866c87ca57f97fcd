"""When jobs started, to the millisecond, as slurmctld's log has it."""

import re
from datetime import datetime
from pathlib import Path
from typing import Final

STARTED: Final = re.compile(
    r"^\[(?P<at>[^\]]+)\] (?:sched: Allocate|sched/backfill: _start_job: Started)"
    r" JobId=(?P<job>\d+)",
    re.MULTILINE,
)


def starts(log: Path) -> dict[int, float]:
    """By the wall; slurmctld writes local time."""
    found = STARTED.finditer(log.read_text(errors="replace"))
    return {int(one["job"]): datetime.fromisoformat(one["at"]).timestamp() for one in found}
