"""How a daemon in the foreground is started so that its log comes as JSON lines.

With LOG_FORMAT=text in its container it comes as it is, and so it does from an image without
Python.
"""

from typing import Final

PROGRAM: Final = "logs.py"
PROGRAMS: Final = "/opt/windlass"
"""Where the pod has our programs."""

BRIEF: Final = {"name": "LOG_BRIEF", "value": "yes"}
"""For a daemon whose log file another container shows: so nothing is told twice but errors."""

_RUN: Final = f"""if command -v python3 > /dev/null; then
  exec python3 {PROGRAMS}/{PROGRAM} -- "$@"
fi
exec "$@"
"""


def command(*words: str) -> list[str]:
    """The command of a container; its arguments become more words of the daemon."""
    return ["sh", "-c", _RUN, "--", *words]
