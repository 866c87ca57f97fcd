"""Keeps certificates current: reads the Secret, does what was decided, trusts before it shows.

Every replica runs this, since every replica serves. Whoever is first stores; the others see it at
their next look, which comes far sooner than the overlap ends.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from windlass.kube.certificates import Keep, Terms, decide
from windlass.kube.serving import Pair, Serving

log = logging.getLogger(__name__)

LOOK_EVERY = 60.0
RETRY_AFTER = 5.0


class StoredMeanwhile(Exception):
    """Somebody else stored first: read again."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The Secret's data and its version; no version where there is no Secret yet."""

    data: Mapping[str, bytes]
    version: str = ""


class Store(Protocol):
    """The Secret, and the webhook configurations that have to trust it."""

    async def read(self) -> Stored: ...

    async def write(self, stored: Stored) -> None:
        """Store in place of this version; raises StoredMeanwhile where it is not current."""

    async def trust(self, bundle: bytes) -> None:
        """Give every webhook configuration of ours this bundle, if it has another."""


class Rotation:
    """One replica's keeping of the certificates."""

    def __init__(
        self, store: Store, serving: Serving, terms: Terms, wall_clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._serving = serving
        self._terms = terms
        self._wall_clock = wall_clock

    async def run(self, started: Callable[[], None]) -> None:
        """Keep them, until cancelled; `started` once there is one to show."""
        while True:
            try:
                await self.look()
            except Exception as error:  # the certificate that is shown stays good for weeks
                log.warning("certificates not looked after: %s: %s", type(error).__name__, error)
                await asyncio.sleep(RETRY_AFTER)
            else:
                started()
                await asyncio.sleep(LOOK_EVERY)

    async def look(self) -> None:
        """Bring Secret, trust and server to what they should be now."""
        stored = await self._settled()
        await self._store.trust(stored.data["ca.crt"])
        if self._serving.show(Pair.from_secret(stored.data)):
            log.info("serving another certificate")

    async def _settled(self) -> Stored:
        while True:
            stored = await self._store.read()
            decided = decide(stored.data, self._terms, self._wall_clock())
            if isinstance(decided, Keep):
                return stored
            try:
                await self._store.write(Stored(decided.data, stored.version))
                log.info("stored certificates: %s", decided.reason)
            except StoredMeanwhile:
                log.info("certificates were stored by another replica")
