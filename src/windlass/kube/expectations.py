"""What a controller has done that its cache does not show yet.

A pass that created three pods must not create three more because the watch is late. It notes what
it expects to see; until that was seen, or has taken so long that something was missed, the cache
is not to be decided on.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from windlass.kube.queue import Monotonic

K = TypeVar("K", bound=Hashable)

LONG = 300.0


@dataclass(slots=True)
class _Expected:
    """Deletions go by UID: a pod that is seen deleted twice must not stand for two."""

    since: float
    creations: int = 0
    deletions: set[str] = field(default_factory=set)

    def met(self) -> bool:
        return self.creations <= 0 and not self.deletions


class Expectations(Generic[K]):
    """Per key, the creations and deletions not seen yet."""

    def __init__(self, clock: Monotonic, patience: float = LONG) -> None:
        self._clock = clock
        self._patience = patience
        self._expected: dict[K, _Expected] = {}

    def expect_creations(self, key: K, count: int) -> None:
        """Note them *before* they are sent: their events may be faster than their answers."""
        self._of(key).creations += count

    def expect_deletions(self, key: K, *uids: str) -> None:
        self._of(key).deletions.update(uids)

    def creation_seen(self, key: K) -> None:
        """The watch showed one; also to be called for one that the server refused."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations -= 1
            self._settle(key, expected)

    def deletion_seen(self, key: K, uid: str) -> None:
        """The watch showed it deleted or terminating; or the server knew nothing of it."""
        expected = self._expected.get(key)
        if expected is not None:
            expected.deletions.discard(uid)
            self._settle(key, expected)

    def satisfied(self, key: K) -> bool:
        """Whether the cache shows all that was done, or has had its time to."""
        expected = self._expected.get(key)
        return expected is None or self._clock() - expected.since > self._patience

    def waits_for(self, key: K) -> str | None:
        """What is not seen yet, in words."""
        expected = self._expected.get(key)
        if expected is None:
            return None
        gone = len(expected.deletions)
        return f"{max(0, expected.creations)} creations and {gone} deletions not seen yet"

    def forget(self, key: K) -> None:
        """The owner is gone, or begins anew."""
        self._expected.pop(key, None)

    def _of(self, key: K) -> _Expected:
        """What is expected of a key; a pass that expects anew waits its full time anew."""
        expected = self._expected.setdefault(key, _Expected(0.0))
        if self._clock() - expected.since > self._patience:
            expected.creations, expected.deletions = 0, set()
        expected.since = self._clock()
        return expected

    def _settle(self, key: K, expected: _Expected) -> None:
        if expected.met():
            del self._expected[key]
