"""Waiting: the only place of the local cluster that lets time pass."""

import time
from collections.abc import Callable
from typing import TypeVar

from windlass.local.errors import TimedOut

T = TypeVar("T")


def wait_for(
    condition: Callable[[], T | None], what: str, *, within: float, every: float = 0.1
) -> T:
    """Return the first truthy answer of `condition`, or raise once `within` seconds are over."""
    deadline = time.monotonic() + within
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise TimedOut(f"{what}: not so after {within:g} s")
        time.sleep(every)
