"""The root of a process: starts its parts, answers for their health, stops them within the grace.

/readyz   200 once every part has started, 503 before that and while stopping
/healthz  200 unless a part ails; a blocked event loop does not answer at all
/metrics  for Prometheus, unless that is told elsewhere (`exposing.py`)
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from aiohttp import web

from windlass.kube.exposing import PATH, Exposition, exposed
from windlass.kube.parts import Part, Tree
from windlass.kube.queue import Monotonic

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Where health is told, and how long a stop may take: less than the pod's own grace."""

    host: str = "0.0.0.0"  # noqa: S104 - kubelet and Prometheus come from outside
    port: int = 8081
    grace: float = 25.0
    metrics: bool = True
    """Whether /metrics is told beside health, to everybody."""


class Manager:
    """One process."""

    def __init__(
        self,
        parts: Sequence[Part],
        clock: Monotonic,
        metrics: Exposition,
        settings: Settings | None = None,
    ) -> None:
        self._tree = Tree("process", parts, clock)
        self._metrics = metrics
        self._settings = settings or Settings()
        self._asked_to_stop = asyncio.Event()
        self._started = False
        self.port = 0

    def request_stop(self) -> None:
        """Begin to stop, as SIGTERM does."""
        self._asked_to_stop.set()

    async def run(self) -> None:
        """Run until asked to stop; raises what a part failed with."""
        with self._signals():
            async with self._health(), asyncio.TaskGroup() as tasks:
                tree = tasks.create_task(self._tree.run(self._all_started), name="parts")
                stop = tasks.create_task(self._stop_when_asked(), name="stop")
                tree.add_done_callback(lambda _: stop.cancel())

    def _all_started(self) -> None:
        self._started = True

    async def _stop_when_asked(self) -> None:
        await self._asked_to_stop.wait()
        log.info("stopping within %.0f s", self._settings.grace)
        await self._tree.stop(self._settings.grace)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.request_stop)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    @asynccontextmanager
    async def _health(self) -> AsyncIterator[None]:
        runner = web.AppRunner(self.application(), access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, self._settings.host, self._settings.port).start()
            self.port = runner.addresses[0][1]
            yield
        finally:
            await runner.cleanup()

    # --- What others are told ----------------------------------------------------------------

    def application(self) -> web.Application:
        application = web.Application()
        application.router.add_get("/readyz", self._ready)
        application.router.add_get("/healthz", self._alive)
        if self._settings.metrics:
            application.router.add_get(PATH, self._expose)
        return application

    def unready(self) -> str | None:
        """Why no work should be sent here."""
        if self._asked_to_stop.is_set():
            return "stopping"
        if not self._started:
            return f"waiting for {self._tree.awaited or 'the first part'}"
        return None

    async def _ready(self, _: web.Request) -> web.Response:
        why = self.unready()
        return web.Response(status=503 if why else 200, text=why or "ok")

    async def _alive(self, _: web.Request) -> web.Response:
        why = self._tree.ailment()
        return web.Response(status=500 if why else 200, text=why or "ok")

    async def _expose(self, _: web.Request) -> web.Response:
        return exposed(self._metrics)
