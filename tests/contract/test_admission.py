"""A real API server asks our webhooks over HTTPS, also while their certificates are replaced."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.contract.plain_api import PlainApi, Refused, connected, run
from windlass.kube.admission import AdmissionServer, Allowed, Cause, Decision, Denied, Review
from windlass.kube.admission import changed as changed_to
from windlass.kube.certificates import Store, Terms, decide, trust_patch
from windlass.kube.serving import Pair, Serving
from windlass.testing.kube import RealKube

TERMS = Terms(names=("127.0.0.1",), overlap=timedelta(0))
PATCH = "application/json-patch+json"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"


def validate(review: Review) -> Decision:
    data = (review.new or {}).get("data") or {}
    if "field" in data:
        return Denied("", (Cause("data.field", "must not be given"),))
    if "forbidden" in data:
        return Denied("nobody may do this")
    if "broken" in data:
        raise RuntimeError("a secret of ours")
    return Allowed(("be careful",) if "careful" in data else ())


def mutate(review: Review) -> Decision:
    assert review.new is not None
    metadata = {**review.new["metadata"], "annotations": {"windlass.dev/by": review.user}}
    return changed_to(review, {**review.new, "metadata": metadata, "data": {"added": "x"}})


@dataclass
class World:
    """The API server, our server, and how often each path was asked."""

    api: PlainApi
    port: int
    serving: Serving
    data: dict[str, bytes]
    namespace: str
    asked: Counter[str] = field(default_factory=Counter)

    @property
    def config_maps(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    async def register(self, kind: str, path: str) -> str:
        """Have the config maps of our namespace reviewed at a path of our server."""
        webhook = {
            "name": "review.windlass.dev",
            "clientConfig": {"url": f"https://127.0.0.1:{self.port}{path}"},
            "rules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["configmaps"],
                }
            ],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": self.namespace},
            "webhooks": [webhook],
        }
        plural = f"{WEBHOOKS}/{kind.lower()}s"
        made = await self.api.call("POST", plural, body)
        place = f"{plural}/{self.namespace}"
        await self.api.call("PATCH", place, trust_patch(made, self.data["ca.crt"]), PATCH)
        await self.until_asked(path)
        return place

    async def until_asked(self, path: str) -> None:
        """Knock until the API server has taken up its configuration."""
        async with asyncio.timeout(30):
            while not self.asked[path]:
                with contextlib.suppress(Refused):
                    await self.create({"metadata": {"generateName": "knock-"}}, dry_run=True)
                await asyncio.sleep(0.02)

    async def create(self, body: dict[str, Any], *, dry_run: bool = False) -> Any:
        query = "?dryRun=All" if dry_run else ""
        return await self.api.call("POST", self.config_maps + query, body)

    async def refused(self, **data: str) -> Refused:
        with pytest.raises(Refused) as caught:
            await self.create({"metadata": {"generateName": "r-"}, "data": data})
        return caught.value


def decided(data: dict[str, bytes] | None, now: datetime) -> dict[str, bytes]:
    answer = decide(data, TERMS, now)
    assert isinstance(answer, Store)
    return answer.data


@asynccontextmanager
async def world(kube: RealKube, namespace: str) -> AsyncIterator[World]:
    """Our webhook server, known to nobody yet; its authority nears its end."""
    now = datetime.now(UTC)
    old = decided(None, now - timedelta(days=4 * 365))
    data = decided(old, now)
    serving = Serving()
    serving.show(Pair.from_secret(data))
    async with connected(kube.server, kube.authority.folder) as api, asyncio.TaskGroup() as tasks:
        await api.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        made = World(api, 0, serving, data, namespace)

        def counted(path: str) -> Callable[[Review], Decision]:
            def handler(review: Review) -> Decision:
                made.asked[path] += 1
                return mutate(review) if path == "/mutate" else validate(review)

            return handler

        paths = ("/validate", "/mutate", "/successor", "/promoted", "/retired")
        server = AdmissionServer({path: counted(path) for path in paths}, time.monotonic)
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = tasks.create_task(server.serve(serving, "127.0.0.1", 0, ready.set_result))
        made.port = await ready
        try:
            yield made
        finally:
            for kind in ("validating", "mutating"):
                with contextlib.suppress(Refused):
                    await api.call("DELETE", f"{WEBHOOKS}/{kind}webhookconfigurations/{namespace}")
            task.cancel()


def play(
    kube: RealKube, namespace: str, scene: Callable[[World], Coroutine[Any, Any, None]]
) -> None:
    async def main() -> None:
        async with world(kube, namespace) as made:
            await scene(made)

    run(main())


def test_the_api_server_passes_our_answers_on(kube: RealKube) -> None:
    async def scene(made: World) -> None:
        await made.register("ValidatingWebhookConfiguration", "/validate")
        await made.create({"metadata": {"name": "good"}})

        invalid = await made.refused(field="x")
        assert invalid.code == 422
        assert "data.field: must not be given" in str(invalid)
        assert invalid.status["details"]["causes"][0]["field"] == "data.field"

        forbidden = await made.refused(forbidden="x")
        assert forbidden.code == 403
        assert str(forbidden).endswith("denied the request: nobody may do this")

    play(kube, "admission-validate", scene)


def test_a_failing_handler_fails_the_request_without_a_word_of_its_insides(kube: RealKube) -> None:
    async def scene(made: World) -> None:
        await made.register("ValidatingWebhookConfiguration", "/validate")
        broken = await made.refused(broken="x")
        assert broken.code == 500
        assert "its log says why under uid" in str(broken)
        assert "secret of ours" not in str(broken)

    play(kube, "admission-broken", scene)


def test_warnings_reach_the_user(kube: RealKube) -> None:
    async def scene(made: World) -> None:
        await made.register("ValidatingWebhookConfiguration", "/validate")
        body = {"metadata": {"name": "careful"}, "data": {"careful": "x"}}
        answer = await made.api.session.post(made.api.server + made.config_maps, json=body)
        assert answer.status == 201
        assert answer.headers.getall("Warning") == ['299 - "be careful"']

    play(kube, "admission-warning", scene)


def test_what_a_mutation_changes_is_stored(kube: RealKube) -> None:
    async def scene(made: World) -> None:
        await made.register("MutatingWebhookConfiguration", "/mutate")
        stored = await made.create({"metadata": {"name": "changed"}, "data": {"taken": "away"}})
        assert stored["data"] == {"added": "x"}
        assert stored["metadata"]["annotations"] == {"windlass.dev/by": "kubernetes-admin"}

    play(kube, "admission-mutate", scene)


class Rotation:
    """Writers that never pause, while bundle and certificate change under them."""

    def __init__(self, made: World, place: str) -> None:
        self.made, self.place = made, place
        self.created = 0
        self.stopped = False

    async def write(self) -> None:
        """Every write needs the webhook: it raises where that cannot be reached."""
        while not self.stopped:
            await self.made.create({"metadata": {"name": f"w-{self.created}"}}, dry_run=True)
            self.created += 1

    def decide(self) -> None:
        self.made.data = decided(self.made.data, datetime.now(UTC))

    async def publish(self, path: str) -> None:
        """Give the API server the bundle; asking at another path shows that it has it."""
        found = await self.made.api.call("GET", self.place)
        url = f"https://127.0.0.1:{self.made.port}{path}"
        turn = {"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": url}
        patch = [*trust_patch(found, self.made.data["ca.crt"]), turn]
        await self.made.api.call("PATCH", self.place, patch, PATCH)
        async with asyncio.timeout(30):
            while self.made.asked[path] < 20:
                await asyncio.sleep(0.01)

    async def rotate(self) -> None:
        served = self.made.data["tls.crt"]
        self.decide()
        assert self.made.data["ca.crt"].count(b"BEGIN") == 2
        await self.publish("/successor")
        self.decide()
        assert self.made.data["tls.crt"] != served
        assert self.made.serving.show(Pair.from_secret(self.made.data))
        await self.publish("/promoted")
        self.decide()
        assert self.made.data["ca.crt"].count(b"BEGIN") == 1
        await self.publish("/retired")
        self.stopped = True


def test_a_whole_rotation_fails_not_one_request(kube: RealKube) -> None:
    async def scene(made: World) -> None:
        place = await made.register("ValidatingWebhookConfiguration", "/validate")
        rotation = Rotation(made, place)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(rotation.write())
            await rotation.rotate()
        assert rotation.created >= 60

    play(kube, "admission-rotation", scene)
