"""Metrics over HTTPS, for those alone whom Kubernetes lets GET /metrics.

The certificate is made here and renewed while the server runs. Nobody can verify it; it keeps the
token of whoever scrapes from being read on the way.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from aiohttp import web

from windlass.kube.bearers import Standing
from windlass.kube.errors import KubeError
from windlass.kube.issuing import Bearer, authority, issue
from windlass.kube.parts import Started
from windlass.kube.serving import Pair, Serving

PATH: Final = "/metrics"
LIFE: Final = timedelta(days=90)
RENEWED_AFTER: Final = timedelta(days=30)


class Exposition(Protocol):
    """Whoever knows the metrics."""

    def exposition(self) -> bytes: ...


class Judge(Protocol):
    """Whoever knows what a token is good for."""

    async def standing(self, token: str, path: str) -> Standing: ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the server listens; the names stand in its certificate."""

    port: int
    names: tuple[str, ...]
    host: str = "0.0.0.0"  # noqa: S104 - Prometheus comes from outside


def exposed(metrics: Exposition) -> web.Response:
    headers = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
    return web.Response(body=metrics.exposition(), headers=headers)


class SecureMetrics:
    """A server of metrics and nothing else."""

    def __init__(
        self, metrics: Exposition, judge: Judge, endpoint: Endpoint, wall: Callable[[], datetime]
    ) -> None:
        self._metrics = metrics
        self._judge = judge
        self._endpoint = endpoint
        self._wall = wall
        self._serving = Serving()
        self.port = 0

    async def run(self, started: Started) -> None:
        """Answer until cancelled."""
        application = web.Application()
        application.router.add_get(PATH, self._answer)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        try:
            self._renew()
            where, context = self._endpoint, self._serving.context
            await web.TCPSite(runner, where.host, where.port, ssl_context=context).start()
            self.port = runner.addresses[0][1]
            started()
            while True:
                await asyncio.sleep(RENEWED_AFTER.total_seconds())
                self._renew()
        finally:
            await runner.cleanup()

    def _renew(self) -> None:
        now = self._wall()
        bearer = Bearer("metrics", names=self._endpoint.names)
        made = issue(authority("metrics of windlass", now, LIFE), bearer, now, LIFE)
        self._serving.show(Pair(made.certificate_pem, made.key_pem))

    async def _answer(self, request: web.Request) -> web.Response:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            return _unknown("a bearer token is needed")
        try:
            standing = await self._judge.standing(token.strip(), PATH)
        except KubeError:
            return web.Response(status=503, text="the API server could not be asked")
        if standing is Standing.UNKNOWN:
            return _unknown("the token is not good")
        if standing is Standing.FORBIDDEN:
            return web.Response(status=403, text=f"you may not get {PATH}")
        return exposed(self._metrics)


def _unknown(why: str) -> web.Response:
    return web.Response(status=401, text=why, headers={"WWW-Authenticate": "Bearer"})
