"""The webhook as a process on a real API server: whom it is trusted by, whom it tells its metrics,
and what a pod learns as it is bound.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from tests.contract.kube_access import as_admin, make_namespace
from tests.contract.plain_api import PlainApi, connected, run
from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.kube.admission import AdmissionServer, Decision, Review
from windlass.kube.certificates import Store, Terms, decide, trust_patch
from windlass.kube.client import Client
from windlass.kube.exposing import Endpoint
from windlass.kube.kinds import Kind
from windlass.kube.manager import Settings
from windlass.kube.metrics import Metrics
from windlass.kube.serving import Pair, Serving
from windlass.kube.wire import Anything, Document
from windlass.mains import windlass
from windlass.operator import binding
from windlass.operator.process import Means
from windlass.operator.webhook_process import Place, WebhookOptions, webhook_process
from windlass.testing.kube import RealKube
from windlass.testing.ports import free_ports
from windlass.values.key import Key

HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
LOCAL = "127.0.0.1"


def configuration(kind: Kind, name: str) -> dict[str, Any]:
    entry = {
        "name": "podsbinding-v1.kb.io",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": name, "name": name, "path": "/"}},
        "sideEffects": "NoneOnDryRun",
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
        "failurePolicy": "Fail",
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods/binding"],
            }
        ],
    }
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        "webhooks": [entry],
    }


BOTH = (kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS)


@asynccontextmanager
async def process(kube: RealKube, name: str, ports: tuple[int, int]) -> AsyncIterator[Client]:
    """The webhook with every flag; ready where it leaves off."""
    health, metrics = ports
    place = Place(Key(name, name), Key(name, "certificates"), name, pods_binding=True)
    options = WebhookOptions(
        place,
        free_ports(1)[0],
        Settings(host=LOCAL, port=health, metrics=False),
        Endpoint(metrics, ("localhost",), LOCAL),
    )
    async with Client(as_admin(kube)) as client, asyncio.TaskGroup() as tasks:
        await make_namespace(client, name)
        for kind in BOTH:
            await client.send(requests.create(kind, "", configuration(kind, name), Anything))
        means = Means(client, Metrics(), time.monotonic, windlass.now)
        manager = webhook_process(means, options)
        tasks.create_task(manager.run())
        try:
            async with asyncio.timeout(30):
                while manager.unready():
                    await asyncio.sleep(0.02)
            yield client
        finally:
            for kind in BOTH:
                await client.send(requests.delete(kind, Key("", name)))
            manager.request_stop()


def test_both_configurations_trust_it(kube: RealKube) -> None:
    async def main() -> None:
        async with process(kube, "hooks-trust", (0, 0)) as client:
            for kind in BOTH:
                read = requests.get(kind, Key("", "hooks-trust"), Document)
                (entry,) = (await client.send(read)).body["webhooks"]
                assert entry["clientConfig"]["caBundle"], kind

    run(main())


@pytest.fixture
def tokens(kube: RealKube) -> dict[str, str]:
    """Of two accounts; only the scraper may get /metrics."""
    kubectl = kube.kubectl
    kubectl("create", "namespace", "hooks-accounts")
    for name in ("scraper", "other"):
        kubectl("create", "serviceaccount", name, "--namespace=hooks-accounts")
    kubectl("create", "clusterrole", "hooks-reader", "--verb=get", "--non-resource-url=/metrics")
    who = "--serviceaccount=hooks-accounts:scraper"
    kubectl("create", "clusterrolebinding", "hooks-reader", "--clusterrole=hooks-reader", who)
    return {
        name: kubectl("create", "token", name, "--namespace=hooks-accounts").strip()
        for name in ("scraper", "other")
    }


def test_metrics_are_told_to_whom_the_server_lets_get_them(
    kube: RealKube, tokens: dict[str, str]
) -> None:
    health, metrics = free_ports(2)
    asked = {
        f"https://{LOCAL}:{metrics}/metrics": {"scraper": 200, "other": 403, "nobody": 401},
        f"http://{LOCAL}:{health}/metrics": {"scraper": 404},
        f"http://{LOCAL}:{health}/readyz": {"nobody": 200},
    }

    async def main() -> None:
        trusting = aiohttp.TCPConnector(ssl=False)
        async with (
            process(kube, "hooks-metrics", (health, metrics)),
            aiohttp.ClientSession(connector=trusting) as http,
        ):
            for url, who in asked.items():
                for name, status in who.items():
                    headers = {"Authorization": f"Bearer {tokens.get(name, 'forged')}"}
                    async with http.get(url, headers=headers) as answer:
                        assert answer.status == status, (url, name)

    run(main())


# --- Binding ---------------------------------------------------------------------------------


class Bound:
    """A namespace whose bindings go by our webhook."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self.asked = 0

    def handler(self, review: Review) -> Any:
        self.asked += 1
        return self.answered(review)

    async def answered(self, review: Review) -> Decision:
        said = binding.handler(self.client)(review)
        assert not isinstance(said, Decision)
        return await said

    async def pod(self, name: str, **metadata: Any) -> Key:
        spec = {"containers": [{"name": "c", "image": "i"}]}
        body = {"metadata": {"name": name, **metadata}, "spec": spec}
        await self.client.send(requests.create(kinds.POD, self.name, body, Anything))
        return Key(self.name, name)

    async def bound(self, name: str, node: str, **metadata: Any) -> dict[str, str]:
        """The annotations of a pod after it was bound to a node."""
        key = await self.pod(name, **metadata)
        await self.client.send(requests.bind(key, "", node))
        found = (await self.client.send(requests.get(kinds.POD, key, Document))).body
        assert found["spec"]["nodeName"] == node
        return found["metadata"].get("annotations") or {}


@asynccontextmanager
async def bindings(kube: RealKube, name: str) -> AsyncIterator[Bound]:
    made = decide(None, Terms(names=(LOCAL,), overlap=timedelta(0)), datetime.now(UTC))
    assert isinstance(made, Store)
    serving = Serving()
    serving.show(Pair.from_secret(made.data))
    async with (
        connected(kube.server, kube.authority.folder) as api,
        Client(as_admin(kube)) as client,
        asyncio.TaskGroup() as tasks,
    ):
        scene = Bound(client, await make_namespace(client, name))
        server = AdmissionServer({binding.PATH: scene.handler}, time.monotonic)
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = tasks.create_task(server.serve(serving, LOCAL, 0, ready.set_result))
        await register(api, name, await ready, made.data["ca.crt"])
        try:
            await until_asked(scene)
            yield scene
        finally:
            await api.call("DELETE", f"{HOOKS}/{name}")
            task.cancel()


async def register(api: PlainApi, name: str, port: int, bundle: bytes) -> None:
    body = configuration(kinds.MUTATING_WEBHOOKS, name)
    body["webhooks"][0]["clientConfig"] = {"url": f"https://{LOCAL}:{port}{binding.PATH}"}
    made = await api.call("POST", HOOKS, body)
    patch = trust_patch(made, bundle)
    await api.call("PATCH", f"{HOOKS}/{name}", patch, "application/json-patch+json")


async def until_asked(scene: Bound) -> None:
    """Knock until the API server has taken up its configuration."""
    async with asyncio.timeout(30):
        knocks = 0
        while not scene.asked:
            await scene.bound(f"knock-{knocks}", "nowhere")
            knocks += 1


def test_a_worker_pod_has_the_topology_of_its_node_once_it_is_bound(kube: RealKube) -> None:
    worker, rack = {labels.NAME: "slurmd"}, {labels.TOPOLOGY: "topo-block:rack1"}

    async def main() -> None:
        async with bindings(kube, "hooks-binding") as scene:
            for name, annotations in (("hooks-rack", rack), ("hooks-bare", {})):
                body = {"metadata": {"name": name, "annotations": annotations}}
                await scene.client.send(requests.create(kinds.NODE, "", body, Anything))
            assert await scene.bound("racked", "hooks-rack", labels=worker) == rack
            kept = await scene.bound("kept", "hooks-rack", labels=worker, annotations={"a": "b"})
            assert kept == {"a": "b", **rack}
            assert await scene.bound("other", "hooks-rack") == {}
            assert await scene.bound("bare", "hooks-bare", labels=worker) == {}

    run(main())
