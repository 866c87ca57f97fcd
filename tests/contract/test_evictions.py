"""The API server asks about evictions, whoever evicts; the disruption budget decides."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.contract.kube_access import as_admin, make_namespace
from tests.contract.plain_api import run
from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.kube.admission import AdmissionServer
from windlass.kube.certificates import Store, Terms, decide, trust_patch
from windlass.kube.client import Client
from windlass.kube.errors import TooManyRequests
from windlass.kube.requests import Deletion
from windlass.kube.serving import Pair, Serving
from windlass.kube.wire import Anything, Document
from windlass.mains import windlass
from windlass.operator import eviction, registration
from windlass.operator.workers.budget import workers_budget
from windlass.testing.kube import RealKube
from windlass.values.key import Key

NAME = "hooks-eviction"
LOCAL = "127.0.0.1"
WORKER = {labels.NAME: "slurmd", labels.CLUSTER: "slurm"}
BUSY = {**WORKER, labels.POD_PROTECT: "true"}


async def pod(client: Client, name: str, **metadata: Any) -> Key:
    body = {
        "metadata": {"name": name, **metadata},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    }
    await client.send(requests.create(kinds.POD, NAME, body, Anything))
    running = {"status": {"phase": "Running"}}
    patch = requests.merge_patch(kinds.POD, Key(NAME, name), running, Anything, "status")
    await client.send(patch)
    return Key(NAME, name)


async def asked(client: Client, key: Key) -> str | None:
    found = await client.send(requests.get(kinds.POD, key, Document))
    return (found.metadata.annotations or {}).get(labels.EVICTION_ASKED)


@asynccontextmanager
async def evictions(kube: RealKube) -> AsyncIterator[Client]:
    """A namespace whose evictions go by our webhook, and whose busy workers are protected."""
    made = decide(None, Terms(names=(LOCAL,), overlap=timedelta(0)), datetime.now(UTC))
    assert isinstance(made, Store)
    serving = Serving()
    serving.show(Pair.from_secret(made.data))
    async with Client(as_admin(kube)) as client, asyncio.TaskGroup() as tasks:
        await make_namespace(client, NAME)
        budget = workers_budget(NAME, "slurm", ())
        await client.send(requests.create(kinds.POD_DISRUPTION_BUDGET, NAME, budget, Anything))
        handlers = {eviction.PATH: eviction.handler(client, windlass.now)}
        server = AdmissionServer(handlers, time.monotonic)
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = tasks.create_task(server.serve(serving, LOCAL, 0, ready.set_result))
        await register(client, f"https://{LOCAL}:{await ready}", made.data["ca.crt"])
        try:
            yield client
        finally:
            await client.send(requests.delete(kinds.VALIDATING_WEBHOOKS, Key("", NAME)))
            task.cancel()


async def register(client: Client, server: str, bundle: bytes) -> None:
    only = {"matchLabels": {"kubernetes.io/metadata.name": NAME}}
    terms = registration.Terms(namespace_selector=only)
    entry = registration.eviction_entry(registration.by_url(server), terms)
    kind = kinds.VALIDATING_WEBHOOKS
    body = {"metadata": {"name": NAME}, "webhooks": [entry]}
    made = await client.send(requests.create(kind, "", body, Document))
    patch = trust_patch(made.body, bundle)
    await client.send(requests.json_patch(kind, Key("", NAME), patch, Anything))


async def refused(client: Client, key: Key) -> None:
    with pytest.raises(TooManyRequests):
        await client.send(requests.evict(key))


def test_a_busy_worker_stays_and_shows_that_its_eviction_was_asked_for(kube: RealKube) -> None:
    async def main() -> None:
        async with evictions(kube) as client:
            busy = await pod(client, "busy", labels=BUSY)
            async with asyncio.timeout(30):  # until the server has taken up its configuration
                while await asked(client, busy) is None:
                    await refused(client, busy)

            tried = await pod(client, "tried", labels=BUSY)
            trial = requests.evict(tried)
            trial = replace(trial, query=(("dryRun", "All"),))
            with pytest.raises(TooManyRequests):
                await client.send(trial)
            assert await asked(client, tried) is None

            idle = await pod(client, "idle", labels=WORKER)
            how = Deletion(grace_seconds=0)
            await client.send(requests.evict(idle, how))

    run(main())
