"""Values that become part of a line in a configuration file, where a line break is a new line."""

import re
from collections.abc import Iterator
from typing import Final

from windlass.api.common import ExternalConfig
from windlass.api.validation.findings import Finding, Problem
from windlass.slurm.conf import Pair, Unwritable

# Names, IPv4 and IPv6 addresses.
_HOST: Final = re.compile(r"[A-Za-z0-9_.:%\[\]-]+")


def host(field: str, value: str) -> Iterator[Finding]:
    if value and not _HOST.fullmatch(value):
        yield Problem(
            field, f"{value!r} is neither a name nor an address", "write one host, without blanks"
        )


def text(field: str, key: str, value: str) -> Iterator[Finding]:
    """A value that is written as `Key=Value`."""
    try:
        Pair(key, value)
    except Unwritable as odd:
        yield Problem(field, odd.problem, odd.fix)


def external(config: ExternalConfig | None) -> Iterator[Finding]:
    if config is not None:
        yield from host("spec.externalConfig.host", config.host)
