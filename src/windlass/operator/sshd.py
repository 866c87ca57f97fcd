"""sshd_config. sshd takes the first value it reads, so a line of ours that the user's configuration
also sets is left out."""

from collections.abc import Iterable


def sshd_config(ours: Iterable[str], extra: str, closing: str = "") -> str:
    """Our lines, the user's, and what must come last, such as a Match."""
    theirs = _settings(extra)
    lines = ["#", "### SLINKY ###", *(line for line in ours if _setting(line) not in theirs)]
    if extra.strip():
        lines += ["#", "### EXTRA CONFIG ###", extra.rstrip("\n")]
    return "\n".join(lines) + "\n" + closing


def _settings(extra: str) -> set[tuple[str, ...]]:
    """What is set for everybody: up to the first Match."""
    found = set()
    for line in extra.splitlines():
        setting = _setting(line)
        if setting == ("match",):
            break
        found.add(setting)
    return found


def _setting(line: str) -> tuple[str, ...]:
    """What a line sets; each Subsystem and each Include is a setting of its own."""
    words = line.replace("=", " ", 1).split()
    keyword = words[0].lower() if words else ""
    if keyword in ("subsystem", "include"):
        return (keyword, *words[1:2])
    return (keyword,)
