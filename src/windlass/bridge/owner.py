"""Users and groups as slurmrestd reads them: by name or by number.

It takes every text that looks like a number for one: 00, 0x0 and 1e-3 are root. Some texts are
nobody to it, and then the job is of whoever submits it: the bridge.
"""

import re
from typing import Final

from windlass.values.malformed import Malformed

NOBODY: Final = frozenset({"nobody", "null", "99"})
"""Slurm's own words and number for nobody at all; uid 65534 is a user like others."""
MOST: Final = 2**32 - 3
"""The two above it are "not set" and "for ever"."""
_NAME: Final = re.compile(r"[A-Za-z_][^\s\x00-\x1f\x7f]*")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,9}")


def parse(text: str) -> str:
    """As it was written; raises Malformed for what Slurm would take for somebody else."""
    if text.lower() in NOBODY:
        problem = f"{text} is nobody to Slurm, and a job must be somebody's"
        raise Malformed("name", text, 0, problem, "name somebody else")
    number = _NUMBER.fullmatch(text) is not None and int(text) <= MOST
    if not number and not _NAME.fullmatch(text):
        fix = "write a name that begins with a letter, or a number in plain digits"
        raise Malformed("name", text, 0, f"{text!r} is no name and no number", fix)
    return text
