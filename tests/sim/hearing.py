"""What processes log while they are simulated: errors of their own are judged."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol


class Blames(Protocol):
    def blame(self, what: str) -> None: ...


class _Ear(logging.Handler):
    """Passes may fail for what we do to them, not for errors of their own."""

    EXPECTED: Final = frozenset({"NotCarriedOut", "NotLeading"})

    def __init__(self, judge: Blames) -> None:
        super().__init__(logging.ERROR)
        self._judge = judge

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        expected = error is None or type(error).__name__ in self.EXPECTED
        if not expected and not _from_outside(error):
            self._judge.blame(f"{record.getMessage()}")


def _from_outside(error: BaseException | None) -> bool:
    return type(error).__module__ in ("windlass.kube.errors", "windlass.slurm.errors")


@contextmanager
def listening(judge: Blames) -> Iterator[None]:
    log, ear = logging.getLogger("windlass"), _Ear(judge)
    kept = log.level, log.propagate
    log.setLevel(logging.ERROR)
    log.propagate = False
    log.addHandler(ear)
    try:
        yield
    finally:
        log.removeHandler(ear)
        log.level, log.propagate = kept
