"""A small room on an API server in memory: what wakes it, what it writes, what it tells."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.unit.operator.silence import Silent
from windlass.api.common import Condition
from windlass.api.controller import Controller
from windlass.kube import kinds, requests
from windlass.kube.controller import Terminal
from windlass.kube.errors import Invalid, KubeError, Status
from windlass.kube.events import Happening
from windlass.kube.queue import Queue
from windlass.kube.reflector import Mirror
from windlass.kube.wire import Document
from windlass.operator import owned
from windlass.operator.conditions import Verdict, conditions
from windlass.operator.executor import Executor, Subject
from windlass.operator.plan import Action, Apply, Create, Plan
from windlass.operator.reading import decode
from windlass.operator.reconciler import NotCarriedOut, Reconciler, Room
from windlass.operator.waking import wire
from windlass.operator.world import RESOURCES, View, World, watches
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key
from windlass.values.reason import Reason

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SLURM = Key("default", "slurm")


@dataclass(frozen=True)
class Seen:
    controller: Controller
    scripts: Document | None


async def observe(view: View, document: Document) -> Seen:
    controller = decode(document, Controller)
    names = [each.name for each in controller.spec.prolog_script_refs or ()]
    found = [await view.read(kinds.CONFIG_MAP, Key("default", name)) for name in names]
    return Seen(controller, found[0] if found else None)


def plan(seen: Seen, now: datetime) -> Plan:
    meta, status = seen.controller.metadata, seen.controller.status
    config = {"metadata": owned.metadata(meta, kinds.CONTROLLER, "slurm-config", {})}
    scripts = seen.scripts.body.get("data", {}) if seen.scripts else {}
    key = {"metadata": owned.metadata(meta, kinds.CONTROLLER, "slurm-key", {})}
    ready = Verdict("Ready", status=True, reason=Reason("Ready", "all is there"))
    return Plan(
        (
            Apply(kinds.CONFIG_MAP, {**config, "data": {"slurm.conf": "x", **scripts}}),
            Create(kinds.SECRET, {**key, "stringData": {"k": str(now)}}),
        ),
        {"conditions": conditions(status.conditions, [ready], meta.generation, now)},
    )


class Told:
    def __init__(self) -> None:
        self.happenings: list[Happening] = []

    def record(self, happening: Happening) -> None:
        self.happenings.append(happening)

    @property
    def reasons(self) -> list[str]:
        return [each.reason for each in self.happenings]


@dataclass
class Stage:
    kube: FakeKube
    queues: dict[kinds.Kind, Queue[Key]]
    reconciler: Reconciler[Seen]
    executor: Executor
    told: Told

    async def create(self, kind: kinds.Kind, name: str, **fields: Any) -> None:
        metadata = {"name": name, "namespace": "default"}
        await self.kube.send(
            requests.create(kind, "default", {"metadata": metadata, **fields}, Document)
        )

    async def woken(self, kind: kinds.Kind) -> Key:
        async with asyncio.timeout(5):
            key = await self.queues[kind].take()
        self.queues[kind].done(key)
        return key

    async def settle(self) -> None:
        """Until nobody is woken any more."""
        while True:
            try:
                async with asyncio.timeout(0.05):
                    key = await self.queues[kinds.CONTROLLER].take()
            except TimeoutError:
                return
            await self.reconciler.reconcile(key)
            self.queues[kinds.CONTROLLER].done(key)

    async def execute(self, subject: Subject, *actions: Action) -> None:
        failures = await self.executor.carry_out(subject, Plan(actions))
        assert not failures, "; ".join(str(failure) for failure in failures)

    def writes(self) -> list[str]:
        return [each.name[0] for each in self.kube.asked if each.method != "GET"]


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    kube = FakeKube(lambda: NOW, RESOURCES)
    watched = watches(())
    mirror = Mirror(kube, watched)
    world = World(kube, mirror, watched)
    queues = {kind: Queue[Key](asyncio.get_running_loop().time) for kind in RESOURCES}
    wire(world, queues)
    told = Told()
    room = Room(kinds.CONTROLLER, observe, plan)
    task = asyncio.create_task(mirror.run())
    try:
        await mirror.synced()
        executor = Executor(kube, world, told, Silent())
        reconciler = Reconciler(room, world, executor, lambda: NOW)
        yield Stage(kube, queues, reconciler, executor, told)
    finally:
        task.cancel()
        await asyncio.wait([task])


async def the_custom_resource_is_carried_out_once() -> None:
    async with staged() as stage:
        await stage.create(kinds.CONTROLLER, "slurm", spec={})
        assert await stage.woken(kinds.CONTROLLER) == SLURM
        await stage.reconciler.reconcile(SLURM)
        await stage.settle()
        before = len(stage.writes())

        await stage.reconciler.reconcile(SLURM)

        assert len(stage.writes()) == before
        assert stage.told.reasons == ["CreateSucceeded", "CreateSucceeded"]


def test_a_custom_resource_is_carried_out_and_then_nothing_more_is_written() -> None:
    asyncio.run(the_custom_resource_is_carried_out_once())


async def _a_script_changes() -> None:
    async with staged() as stage:
        await stage.create(kinds.CONFIG_MAP, "scripts", data={"a": "1"})
        await stage.create(
            kinds.CONTROLLER, "slurm", spec={"prologScriptRefs": [{"name": "scripts"}]}
        )
        await stage.settle()
        change = {"data": {"a": "2"}}
        key = Key("default", "scripts")
        await stage.kube.send(requests.merge_patch(kinds.CONFIG_MAP, key, change, Document))

        assert await stage.woken(kinds.CONTROLLER) == SLURM
        await stage.reconciler.reconcile(SLURM)

        config = await stage.kube.send(
            requests.get(kinds.CONFIG_MAP, Key("default", "slurm-config"), Document)
        )
        assert config.body["data"]["a"] == "2"
        assert stage.told.reasons[-1] == "PatchSucceeded"


def test_what_a_custom_resource_names_wakes_it_and_is_read_anew() -> None:
    asyncio.run(_a_script_changes())


WAKES = [
    (kinds.NODE_SET, "w", {"controllerRef": {"name": "slurm"}}, kinds.CONTROLLER, SLURM),
    (
        kinds.CONTROLLER,
        "slurm",
        {"accountingRef": {"name": "db"}},
        kinds.ACCOUNTING,
        Key("default", "db"),
    ),
]


@pytest.mark.parametrize(("kind", "name", "spec", "woken", "key"), WAKES)
def test_node_sets_and_controllers_wake_what_they_name(
    kind: kinds.Kind, name: str, spec: dict[str, Any], woken: kinds.Kind, key: Key
) -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.create(kind, name, spec=spec)
            assert await stage.woken(woken) == key

    asyncio.run(story())


async def _a_key_changes() -> None:
    async with staged() as stage:
        await stage.create(
            kinds.CONTROLLER, "slurm", spec={"slurmKeyRef": {"name": "key", "key": "k"}}
        )
        await stage.create(kinds.REST_API, "rest", spec={"controllerRef": {"name": "slurm"}})
        await stage.woken(kinds.REST_API)

        await stage.create(kinds.SECRET, "key", stringData={"k": "v"})

        assert await stage.woken(kinds.REST_API) == Key("default", "rest")


def test_a_changed_key_wakes_the_whole_cluster() -> None:
    asyncio.run(_a_key_changes())


def test_a_key_that_an_accounting_shares_wakes_its_clusters_too() -> None:
    async def story() -> None:
        async with staged() as stage:
            await stage.create(kinds.CONTROLLER, "slurm", spec={"accountingRef": {"name": "db"}})
            await stage.create(kinds.REST_API, "rest", spec={"controllerRef": {"name": "slurm"}})
            await stage.woken(kinds.REST_API)

            shared = {"jwtKeyRef": {"name": "key", "key": "k"}}
            await stage.create(kinds.ACCOUNTING, "db", spec=shared)
            assert await stage.woken(kinds.REST_API) == Key("default", "rest")

            await stage.create(kinds.SECRET, "key", stringData={"k": "v"})
            assert await stage.woken(kinds.REST_API) == Key("default", "rest")

    asyncio.run(story())


def shown(document: Document, type_: str) -> Condition:
    read = decode(document, Controller).status.conditions or []
    return next(condition for condition in read if condition.type == type_)


async def _something_is_refused() -> None:
    def refuse(request: requests.Request[Any]) -> KubeError | None:
        if request.name == ("apply", "ConfigMap"):
            return Invalid(Status(code=422, reason="Invalid", message="data: too long"))
        return None

    async with staged() as stage:
        await stage.create(kinds.CONTROLLER, "slurm", spec={})
        await stage.woken(kinds.CONTROLLER)
        stage.kube.before = refuse

        with pytest.raises(NotCarriedOut, match="ConfigMap slurm-config"):
            await stage.reconciler.reconcile(SLURM)

        document = await stage.kube.send(requests.get(kinds.CONTROLLER, SLURM, Document))
        degraded = shown(document, "Degraded")
        assert (degraded.status, degraded.reason) == ("True", "Refused")
        assert "data: too long" in degraded.message
        assert stage.told.reasons == ["PatchFailed", "CreateSucceeded"]


def test_what_is_refused_is_told_and_the_rest_is_done() -> None:
    asyncio.run(_something_is_refused())


async def _a_malformed_resource() -> None:
    async with staged() as stage:
        await stage.create(kinds.CONTROLLER, "slurm", spec={"extraConf": 7})
        await stage.woken(kinds.CONTROLLER)

        with pytest.raises(Terminal, match="extraConf"):
            await stage.reconciler.reconcile(SLURM)

        document = await stage.kube.send(requests.get(kinds.CONTROLLER, SLURM, Document))
        conditions_of = {each["type"]: each for each in document.body["status"]["conditions"]}
        assert conditions_of["Ready"]["reason"] == "Malformed"
        assert "extraConf" in conditions_of["Ready"]["message"]


def test_a_resource_that_cannot_be_read_says_so_itself() -> None:
    asyncio.run(_a_malformed_resource())


async def _a_name_is_taken(owner: str) -> None:
    async with staged() as stage:
        await stage.create(kinds.CONTROLLER, "slurm", spec={})
        live = await stage.kube.send(requests.get(kinds.CONTROLLER, SLURM, Document))
        uid = live.metadata.uid if owner == "itself" else "another"
        reference = {"apiVersion": "v1", "kind": "Job", "name": owner, "uid": uid}
        metadata = {"name": "w-0", "namespace": "default", "ownerReferences": [reference]}
        pod = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await stage.kube.send(requests.create(kinds.POD, "default", pod, Document))

        await stage.execute(Subject(kinds.CONTROLLER, live.metadata), Create(kinds.POD, pod))


def test_a_name_that_somebody_else_has_is_told_and_not_taken_for_ours() -> None:
    with pytest.raises(AssertionError, match="belongs to Job other"):
        asyncio.run(_a_name_is_taken("other"))


def test_what_we_made_a_moment_ago_is_ours_though_no_cache_shows_it_yet() -> None:
    asyncio.run(_a_name_is_taken("itself"))
