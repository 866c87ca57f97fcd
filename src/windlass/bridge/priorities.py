"""What a PriorityClass of Kubernetes is to Slurm, by a table of settings.

>>> table = parse({"urgent": "qos=high", "batch": "nice=100"})
>>> table["urgent"]
Priority(qos='high', priority=None, nice=None)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from windlass.values.malformed import Malformed

_RULE: Final = re.compile(r"qos=(?P<qos>\S+)|priority=(?P<p>[0-9]{1,9})|nice=(?P<n>-?[0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Priority:
    qos: str | None = None
    priority: int | None = None
    nice: int | None = None


NONE: Final = Priority()


def parse(table: Mapping[str, str]) -> dict[str, Priority]:
    """Read the table; raises Malformed of the first bad line."""
    return {name: _rule(name, text) for name, text in table.items()}


def _rule(name: str, text: str) -> Priority:
    found = _RULE.fullmatch(text)
    if not found:
        problem = f"{text!r} is nothing that Slurm ranks by"
        fix = "write as in qos=high, priority=1000 or nice=50"
        raise Malformed(f"priority class {name}", text, 0, problem, fix)
    number, nice = found["p"], found["n"]
    return Priority(
        qos=found["qos"],
        priority=None if number is None else int(number),
        nice=None if nice is None else int(nice),
    )
