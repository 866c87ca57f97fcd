"""The one error of this floor: a text that cannot be read, where it goes wrong, and the fix.

>>> print(Malformed("hostlist", "w-[3-1]", 3, "the range 3-1 runs downward", "write 1-3"))
hostlist 'w-[3-1]', character 4: the range 3-1 runs downward; write 1-3
"""

from typing import Final

_SHOWN: Final = 60


class Malformed(ValueError):
    """The text is no such value. The caller shows the sentence to whoever wrote the text."""

    def __init__(self, kind: str, text: str, position: int, problem: str, fix: str) -> None:
        self.kind = kind
        self.text = text
        self.position = position
        """Counted from 0, as in text[position]; the sentence counts from 1, as people do."""
        self.problem = problem
        self.fix = fix
        where = f"{kind} {_around(text, position)!r}, character {position + 1}"
        super().__init__(f"{where}: {problem}; {fix}")


def _around(text: str, position: int) -> str:
    """A piece of a long text, so that the message stays a sentence."""
    if len(text) <= _SHOWN:
        return text
    start = max(0, min(position - _SHOWN // 2, len(text) - _SHOWN))
    end = start + _SHOWN
    before = "..." if start else ""
    after = "..." if end < len(text) else ""
    return f"{before}{text[start:end]}{after}"
