"""The machine's own time."""

import asyncio
import time

from windlass.mains.kubernetes import boot_time
from windlass.values.clock import Instant, Seconds


class SystemClock:
    def now(self) -> Instant:
        return Instant(time.time())

    def monotonic(self) -> Seconds:
        return Seconds(boot_time())

    async def sleep(self, seconds: Seconds) -> None:
        await asyncio.sleep(seconds)
