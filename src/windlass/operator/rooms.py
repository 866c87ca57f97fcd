"""Every room of the operator, with what it works with."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import aiohttp

from windlass.kube import kinds
from windlass.kube.wire import Document
from windlass.operator.logins.host_keys import make_host_keys
from windlass.operator.logins.observe import Observer as LoginObserver
from windlass.operator.logins.plan import plan as plan_logins
from windlass.operator.reconciler import Room
from windlass.operator.site import Site
from windlass.operator.slurmctld import observe as slurmctld
from windlass.operator.slurmctld.asking import Reporters
from windlass.operator.slurmctld.plan import plan as plan_slurmctld
from windlass.operator.slurmctld.programs import programs
from windlass.operator.slurmdbd.observe import Observer as AccountingObserver
from windlass.operator.slurmdbd.plan import plan as plan_slurmdbd
from windlass.operator.slurmrestd.observe import Observer as RestApiObserver
from windlass.operator.slurmrestd.plan import plan as plan_slurmrestd
from windlass.operator.slurms.seen import SeesSlurm
from windlass.operator.tokens.observe import observe as observe_token
from windlass.operator.tokens.plan import plan as plan_token
from windlass.operator.workers.observe import Observer as WorkerObserver
from windlass.operator.workers.plan import plan as plan_workers
from windlass.operator.world import View

KEY_BYTES: Final = 1024


@asynccontextmanager
async def rooms(
    site: Site, slurm: SeesSlurm, *, monitors: bool = False
) -> AsyncIterator[list[Room[Any]]]:
    """The rooms; `monitors` where the Prometheus operator's kinds are installed."""
    texts = programs()
    setting = slurmctld.Setting(site=site, programs=texts, monitors=monitors, slurm=slurm)
    accounting = AccountingObserver(site.images, texts, partial(secrets.token_urlsafe, 24))
    rest_api = RestApiObserver(site.images, texts)
    login = LoginObserver(site, make_host_keys)
    async with aiohttp.ClientSession() as session:
        yield [
            _slurmctld(setting, Reporters(session)),
            Room(kinds.ACCOUNTING, accounting.observe, plan_slurmdbd),
            Room(kinds.REST_API, rest_api.observe, plan_slurmrestd),
            Room(kinds.LOGIN_SET, login.observe, plan_logins),
            Room(kinds.NODE_SET, WorkerObserver(site, slurm).observe, plan_workers, farewells=True),
            Room(kinds.TOKEN, observe_token, plan_token),
        ]


def _slurmctld(setting: slurmctld.Setting, reporters: Reporters) -> Room[slurmctld.Observed]:
    async def observe(view: View, document: Document) -> slurmctld.Observed:
        keys = (secrets.token_bytes(KEY_BYTES) for _ in range(2))
        fresh = slurmctld.FreshKeys(*keys)
        return await slurmctld.observe(view, document, setting, fresh, reporters.ask)

    return Room(kinds.CONTROLLER, observe, plan_slurmctld)
