"""The API server asks our webhooks about our kinds: every rule, taken and refused."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.contract.kube_access import as_admin
from tests.contract.plain_api import PlainApi, Refused, connected, run
from tests.contract.slurm_kinds import SLINKY, manifest
from tests.unit.api.validation.cases import (
    ACCOUNTINGS,
    CLAIMS,
    CONFIG_MAPS,
    GOOD,
    INHERITED,
    NAMESPACE,
    REFUSED,
    WARNED,
    Case,
    hostname,
)
from windlass.api.definitions import GROUP
from windlass.kube.admission import AdmissionServer
from windlass.kube.certificates import Store, Terms, decide, trust_patch
from windlass.kube.client import Client
from windlass.kube.serving import Pair, Serving
from windlass.local.kubectl import Kubectl
from windlass.operator import registration, webhooks
from windlass.operator.lookups import ClientLookups
from windlass.testing.kube import RealKube

HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
ONLY_HERE = registration.Terms(
    namespace_selector={"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}
)


@dataclass(frozen=True)
class World:
    """The API server, and our webhooks that it does not know yet."""

    api: PlainApi
    port: int
    bundle: bytes

    def place(self, kind: str, name: str = "") -> str:
        root = f"/apis/{GROUP}/v1beta1/namespaces/{NAMESPACE}/{kind.lower()}s"
        return f"{root}/{name}" if name else root

    async def register(self, name: str) -> None:
        entries = registration.entries(
            registration.by_url(f"https://127.0.0.1:{self.port}"), ONLY_HERE
        )
        body = {"metadata": {"name": name}, "webhooks": entries}
        made = await self.api.call("POST", HOOKS, body)
        patch = trust_patch(made, self.bundle)
        await self.api.call("PATCH", f"{HOOKS}/{name}", patch, "application/json-patch+json")
        bad = manifest("NodeSet", "knock", NAMESPACE, **hostname("BAD"))
        async with asyncio.timeout(30):
            while await self.code("POST", self.place("NodeSet"), bad) != 422:
                await asyncio.sleep(0.02)

    async def code(self, verb: str, path: str, body: Any) -> int:
        try:
            await self.write(verb, path, body)
        except Refused as error:
            return error.code
        return 201

    async def write(
        self, verb: str, path: str, body: Any, query: str = "?dryRun=All"
    ) -> tuple[str, ...]:
        """Write without keeping it; the warnings."""
        answer = await self.api.session.request(verb, self.api.server + path + query, json=body)
        found = await answer.json()
        if answer.status >= 400:
            raise Refused(answer.status, found)
        return tuple(answer.headers.getall("Warning", ()))

    async def judged(self, case: Case) -> tuple[str, ...]:
        """Make the object, or change it to this; the warnings."""
        body = manifest(case.kind, case.name, NAMESPACE)
        if case.full_old is None:
            return await self.write("POST", self.place(case.kind), {**body, "spec": case.full})
        old = await self.api.call("POST", self.place(case.kind), {**body, "spec": case.full_old})
        try:
            return await self.change(old, case)
        finally:
            await self.api.call("DELETE", self.place(case.kind, case.name))

    async def change(self, old: Any, case: Case) -> tuple[str, ...]:
        new = {**old, "spec": case.full}
        return await self.write("PUT", self.place(case.kind, old["metadata"]["name"]), new)


@asynccontextmanager
async def world(kube: RealKube) -> AsyncIterator[World]:
    made = decide(None, Terms(names=("127.0.0.1",), overlap=timedelta(0)), datetime.now(UTC))
    assert isinstance(made, Store)
    serving = Serving()
    serving.show(Pair.from_secret(made.data))
    async with (
        connected(kube.server, kube.authority.folder) as api,
        Client(as_admin(kube)) as client,
        asyncio.TaskGroup() as tasks,
    ):
        server = AdmissionServer(webhooks.handlers(ClientLookups(client)), time.monotonic)
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = tasks.create_task(server.serve(serving, "127.0.0.1", 0, ready.set_result))
        yield World(api, await ready, made.data["ca.crt"])
        task.cancel()


Scene = Callable[[World], Coroutine[Any, Any, None]]


def play(kube: RealKube, name: str, scene: Scene, before: Scene | None = None) -> None:
    async def main() -> None:
        async with world(kube) as made:
            if before is not None:
                await before(made)
            try:
                await made.register(name)
                await scene(made)
            finally:
                with contextlib.suppress(Refused):
                    await made.api.call("DELETE", f"{HOOKS}/{name}")

    run(main())


@pytest.fixture(scope="module")
def kube_with_kinds(kube: RealKube, slurm_kinds: Kubectl) -> RealKube:
    slurm_kinds("create", "namespace", NAMESPACE)
    for name, files in CONFIG_MAPS.items():
        entries = (f"--from-literal={file}=x" for file in sorted(files))
        slurm_kinds("create", "configmap", name, "-n", NAMESPACE, *entries)
    for name, modes in CLAIMS.items():
        slurm_kinds.apply(claim(name, sorted(modes)))
    for name, keys in ACCOUNTINGS.items():
        slurm_kinds.apply(json.dumps(manifest("Accounting", name, NAMESPACE, **keys)))
    return kube


def claim(name: str, modes: list[str]) -> str:
    return f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}, namespace: {NAMESPACE}}}
spec: {{accessModes: {modes}, resources: {{requests: {{storage: 1Gi}}}}}}
"""


def test_what_is_good_passes_without_a_word(kube_with_kinds: RealKube) -> None:
    async def scene(made: World) -> None:
        for case in GOOD:
            assert await made.judged(case) == (), case

    play(kube_with_kinds, "reviews-good", scene)


def test_what_is_wrong_is_refused_with_its_field(kube_with_kinds: RealKube) -> None:
    async def scene(made: World) -> None:
        for case in REFUSED:
            with pytest.raises(Refused) as caught:
                await made.judged(case)
            said = caught.value
            name = f'"{case.kind.lower()}-v1beta1.kb.io" denied the request'
            assert said.code == 422, case
            assert name in str(said), case
            causes = {one["field"]: one["message"] for one in said.status["details"]["causes"]}
            assert case.field in causes, case
            assert case.words in f"{case.field}: {causes[case.field]}", case

    play(kube_with_kinds, "reviews-refused", scene)


def test_what_is_doubtful_is_taken_with_a_warning(kube_with_kinds: RealKube) -> None:
    async def scene(made: World) -> None:
        for case in WARNED:
            (warning,) = await made.judged(case)
            assert case.field in warning, case
            assert case.words in warning, case

    play(kube_with_kinds, "reviews-warned", scene)


def test_faults_from_before_the_webhook_stop_no_other_change(kube_with_kinds: RealKube) -> None:
    olds: list[Any] = []

    async def before(made: World) -> None:
        for case in INHERITED:
            body = manifest(case.kind, f"old-{case.kind.lower()}", NAMESPACE)
            body["spec"] = case.full_old
            olds.append(await made.api.call("POST", made.place(case.kind), body))

    async def scene(made: World) -> None:
        for old, case in zip(olds, INHERITED, strict=True):
            (warning,) = await made.change(old, case)
            assert case.words in warning
        nodes = next(old for old in olds if old["kind"] == "NodeSet")
        place = made.place("NodeSet", nodes["metadata"]["name"])
        assert await made.write("PUT", f"{place}/status", {**nodes, "status": {}}) == ()
        labelled = {**nodes, "metadata": {**nodes["metadata"], "labels": {"a": "b"}}}
        assert await made.write("PUT", place, labelled) == ()
        await made.api.call("DELETE", place)

    play(kube_with_kinds, "reviews-inherited", scene, before)


def test_a_config_map_made_a_moment_ago_is_found(kube_with_kinds: RealKube) -> None:
    async def scene(made: World) -> None:
        maps = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        for at in range(10):
            files = {"metadata": {"name": f"fresh-{at}"}, "data": {"gres.conf": "x"}}
            spec = {"configFileRefs": [{"name": f"fresh-{at}"}]}
            await made.api.call("POST", maps, files)
            assert await made.judged(Case(kind="Controller", spec=spec)) == ()

    play(kube_with_kinds, "reviews-fresh", scene)


def test_manifests_for_slinky_pass(kube_with_kinds: RealKube) -> None:
    async def scene(made: World) -> None:
        maps = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        files = {"metadata": {"name": "slurm-config-extra"}, "data": {"gres.conf": "x"}}
        await made.api.call("POST", maps, files)
        for kind, body in SLINKY.items():
            await made.write("POST", made.place(kind), body)

    play(kube_with_kinds, "reviews-slinky", scene)
