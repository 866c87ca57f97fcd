"""What was submitted and is not in Slurm's list yet: nobody submits it again meanwhile.

Only a job that is younger than all that were known for the same pods is the one that was sent. An
older one may still change after that, such as when its end is seen.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from windlass.bridge.gang import GangKey
from windlass.values.clock import Instant, Seconds

Identity: TypeAlias = tuple[str, GangKey, str, str]
UNSEEN: Final = Seconds(15.0)
"""After so long a submitted job is in the list, or was never made."""
REFUSED: Final = Seconds(20.0)
"""What Slurm refused is asked for again then: an administrator may have changed something."""


@dataclass(frozen=True, slots=True)
class _Sent:
    not_before: Instant
    after: int
    """The youngest job that was known."""


class Sent:
    def __init__(self) -> None:
        self._sent: dict[Identity, _Sent] = {}

    def sent(self, identity: Identity, now: Instant, after: int) -> None:
        self._sent[identity] = _Sent(Instant(now + UNSEEN), after)

    def refused(self, identity: Identity, now: Instant) -> None:
        self._sent[identity] = _Sent(Instant(now + REFUSED), self._sent[identity].after)

    def never_sent(self, identity: Identity) -> None:
        self._sent.pop(identity, None)

    def seen(self, identity: Identity, number: int) -> None:
        """A job of this identity is in the list."""
        found = self._sent.get(identity)
        if found is not None and number > found.after:
            del self._sent[identity]

    def not_before(self, identity: Identity) -> Instant | None:
        """When the list has to be from, to say that there is no such job."""
        found = self._sent.get(identity)
        return found.not_before if found else None
