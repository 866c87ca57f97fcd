"""The talking half and the running half together, on a real API server."""

import asyncio
import base64
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp

from tests.contract.kube_access import as_admin, make_namespace
from windlass.kube import kinds, requests
from windlass.kube.applying import Rendered, apply_if_different
from windlass.kube.certificate_store import ClientStore, Webhooks
from windlass.kube.certificates import Terms as CertificateTerms
from windlass.kube.client import Client
from windlass.kube.controller import Controller, Requeue
from windlass.kube.event_sink import ClientSink
from windlass.kube.events import Happening, Limits, Planner, Recorder, Regarding, Reporter
from windlass.kube.guard import Guarded
from windlass.kube.leader import Elector, Terms
from windlass.kube.leases import ClientLeases
from windlass.kube.manager import Manager, Settings
from windlass.kube.metrics import Metrics
from windlass.kube.objects import ConfigMap, Event, Lease, Secret
from windlass.kube.parts import Elected, Part, Working
from windlass.kube.queue import Queue
from windlass.kube.reflector import Mirror
from windlass.kube.requests import Selection, Sends
from windlass.kube.rotation import Rotation
from windlass.kube.serving import Pair, Serving
from windlass.kube.waking import itself, owner, waking
from windlass.kube.watch import Watched
from windlass.kube.wire import Anything, Document
from windlass.testing.kube import RealKube
from windlass.values.key import Key

NS = "wiring"
Scenario = Callable[[Client], Awaitable[None]]


def now() -> datetime:
    return datetime.now(UTC)


async def until(condition: Callable[[], bool], within: float = 20.0) -> None:
    async with asyncio.timeout(within):
        while not condition():
            await asyncio.sleep(0.01)


def play(kube: RealKube, scenario: Scenario) -> None:
    async def run() -> None:
        async with Client(as_admin(kube)) as client:
            await make_namespace(client, NS)
            await scenario(client)

    asyncio.run(run())


# --- leases and events ---------------------------------------------------------------------


def test_two_electors_never_lead_at_once_and_hand_over(kube: RealKube) -> None:
    key = Key(NS, "two-electors")
    led: list[str] = []

    async def scenario(client: Client) -> None:
        def elector(identity: str) -> Elector:
            terms = Terms(identity=identity, lease=3, renew=2, retry=0.1)
            return Elector(ClientLeases(client, key), terms, time.monotonic, now)

        first, second = elector("first"), elector("second")

        def lead(one: Elector, other: Elector, name: str) -> Callable[[], Awaitable[None]]:
            async def body() -> None:
                led.append(name)
                while True:
                    assert one.leading
                    assert not other.leading
                    await asyncio.sleep(0.01)

            return body

        async with asyncio.TaskGroup() as tasks:
            one = tasks.create_task(first.run(lead(first, second, "first")))
            await until(lambda: first.leading)
            two = tasks.create_task(second.run(lead(second, first, "second")))
            await until(lambda: second.holder == "first")
            one.cancel()
            await until(lambda: second.leading, within=2)
            stored = await client.send(requests.get(kinds.LEASE, key, Lease))
            assert stored.spec.holder_identity == "second"
            two.cancel()
        assert led == ["first", "second"]

    play(kube, scenario)


def test_a_lease_that_somebody_deletes_is_made_again_by_its_leader(kube: RealKube) -> None:
    key = Key(NS, "deleted")

    async def scenario(client: Client) -> None:
        terms = Terms(identity="us", lease=3, renew=2, retry=0.1)
        elector = Elector(ClientLeases(client, key), terms, time.monotonic, now)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(elector.run(asyncio.Event().wait))  # type: ignore[arg-type]
            await until(lambda: elector.leading)
            made = await client.send(requests.get(kinds.LEASE, key, Lease))
            await client.send(requests.delete(kinds.LEASE, key))
            leases = ClientLeases(client, key)
            async with asyncio.timeout(5):
                while (found := await leases.read()) is None:
                    await asyncio.sleep(0.01)
            assert found.uid != made.metadata.uid
            assert elector.leading
            task.cancel()

    play(kube, scenario)


def test_what_happens_again_arrives_as_a_series_with_its_count(kube: RealKube) -> None:
    happening = Happening(Regarding("v1", "Pod", NS, "w-0"), "Drained", "Drain", "by jane")
    fates: list[str] = []

    async def scenario(client: Client) -> None:
        planner = Planner(Reporter("windlass.dev/test", "test-0"), Limits(refresh=0))
        recorder = Recorder(planner, ClientSink(client), now, fates.append)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(recorder.run(lambda: None))
            for _ in range(5):
                recorder.record(happening)
            await until(lambda: len(fates) == 5)
            task.cancel()
        page = await client.send(requests.list_page(kinds.EVENT, Event, Selection(NS)))
        (stored,) = page.items or []
        assert stored.series is not None
        assert stored.series.count == 5
        assert (stored.reason, stored.note) == ("Drained", "by jane")
        assert fates == ["sent"] * 5

    play(kube, scenario)


def test_an_event_in_a_namespace_that_ends_is_nobodys_failure(kube: RealKube) -> None:
    """The finalizer keeps it ending: no controller runs here that would finish it."""
    fates: list[str] = []

    async def scenario(client: Client) -> None:
        name = await make_namespace(client, "wiring-ends")
        await client.send(requests.delete(kinds.NAMESPACE, Key("", name)))
        planner = Planner(Reporter("windlass.dev/test", "test-0"))
        recorder = Recorder(planner, ClientSink(client), now, fates.append)
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(recorder.run(lambda: None))
            for namespace in (name, "wiring-never-was"):
                regarding = Regarding("v1", "Pod", namespace, "w-0")
                recorder.record(Happening(regarding, "Drained", "Drain", "by jane"))
            await until(lambda: len(fates) == 2)
            task.cancel()
        assert fates == ["sent", "sent"]

    play(kube, scenario)


# --- certificates --------------------------------------------------------------------------


def webhook(name: str) -> dict[str, Any]:
    return {
        "name": f"{name}.windlass.dev",
        "clientConfig": {"url": "https://127.0.0.1:1/never"},
        "rules": [],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }


async def bundles(client: Client, name: str) -> set[bytes]:
    request = requests.get(kinds.VALIDATING_WEBHOOKS, Key("", name), Document)
    found = (await client.send(request)).body["webhooks"]
    return {base64.b64decode(each["clientConfig"].get("caBundle", "")) for each in found}


def test_replicas_that_race_agree_on_certificates_and_only_ours_trust_them(
    kube: RealKube,
) -> None:
    secret = Key(NS, "wiring-tls")
    start = now()
    moment = start

    async def scenario(client: Client) -> None:
        nonlocal moment
        for name in ("wiring-ours", "wiring-theirs"):
            body = {"metadata": {"name": name}, "webhooks": [webhook("a"), webhook("b")]}
            await client.send(requests.create(kinds.VALIDATING_WEBHOOKS, "", body, Anything))
        ours = (
            Webhooks(kinds.MUTATING_WEBHOOKS, "wiring-absent"),
            Webhooks(kinds.VALIDATING_WEBHOOKS, "wiring-ours"),
        )
        terms = CertificateTerms(names=("127.0.0.1",))
        servings = (Serving(), Serving())
        store = ClientStore(client, secret, ours)
        replicas = [Rotation(store, serving, terms, lambda: moment) for serving in servings]

        async def look() -> int:
            """Both at once; how many authorities are trusted then."""
            await asyncio.gather(*(replica.look() for replica in replicas))
            stored = await client.send(requests.get(kinds.SECRET, secret, Secret))
            assert stored.data is not None
            pair = Pair.from_secret(stored.data)
            assert not any(serving.show(pair) for serving in servings)
            assert await bundles(client, "wiring-ours") == {stored.data["ca.crt"]}
            assert await bundles(client, "wiring-theirs") == {b""}
            return stored.data["ca.crt"].count(b"BEGIN")

        trusted = []
        for later in (timedelta(0), timedelta(days=4 * 365), timedelta(days=4 * 365, hours=1)):
            moment = start + later
            trusted.append(await look())
        moment = start + timedelta(days=4 * 365, hours=3)
        trusted.append(await look())
        assert trusted == [1, 2, 2, 1]

    play(kube, scenario)


# --- a small whole -------------------------------------------------------------------------

SOURCES = Watched(kinds.CONFIG_MAP, ConfigMap, Selection(NS, "wiring=source"))
CHILDREN = Watched(kinds.CONFIG_MAP, Document, Selection(NS, "wiring=child"))


@dataclass
class Counted:
    """What was asked, and how it went."""

    requests: list[str] = field(default_factory=list)

    def __call__(self, verb: str, kind: str, code: int, seconds: float) -> None:
        assert 0 <= seconds < 30
        self.requests.append(f"{verb} {kind} {code}")

    def writes(self, kind: str) -> int:
        reads = ("get", "list", "watch")
        rows = [row.split() for row in self.requests]
        return sum(1 for verb, of, _ in rows if of == kind and verb not in reads)


@dataclass
class Copier:
    """A child with the same data for every source."""

    client: Sends
    mirror: Mirror
    passes: int = 0

    async def reconcile(self, key: Key) -> Requeue:
        source = self.mirror.store(SOURCES).get(key)
        if source is not None:
            child = rendered(source)
            live = self.mirror.store(CHILDREN).get(Key(NS, f"{key.name}-child"))
            await apply_if_different(self.client, child, live, requests.FieldManager("wiring"))
        self.passes += 1
        return Requeue.never()


def rendered(source: ConfigMap) -> Rendered:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "controller": True}
    reference |= {"name": source.metadata.name, "uid": source.metadata.uid}
    metadata = {
        "namespace": NS,
        "name": f"{source.metadata.name}-child",
        "labels": {"wiring": "child"},
        "ownerReferences": [reference],
    }
    return Rendered(kinds.CONFIG_MAP, {"metadata": metadata, "data": source.data})


class Process:
    """All that one operator is."""

    def __init__(self, client: Client, metrics: Metrics, identity: str) -> None:
        terms = Terms(identity=identity, lease=3, renew=2, retry=0.1)
        leases = ClientLeases(client, Key(NS, "whole"))
        self.elector = Elector(leases, terms, time.monotonic, now)
        metrics.watch_leading(lambda: self.elector.leading)
        self.mirror = Mirror(client, (SOURCES, CHILDREN))
        self.queue: Queue[Key] = Queue(time.monotonic, meter=metrics.queue("copier"))
        self.mirror.store(SOURCES).subscribe(waking(self.queue, itself))
        self.mirror.store(CHILDREN).subscribe(waking(self.queue, owner(kinds.CONFIG_MAP)))
        self.copier = Copier(Guarded(client, self.elector.check), self.mirror)
        meter = metrics.controller("copier")
        controller = Controller("copier", self.copier.reconcile, self.queue, meter=meter)
        working = Working(controller, self.queue)
        parts = (
            Part("mirror", self.mirror.run),
            Elected(self.elector, [working], time.monotonic),
        )
        self.manager = Manager(
            parts, time.monotonic, metrics, Settings(host="127.0.0.1", port=0, grace=10)
        )

    @property
    def idle(self) -> bool:
        return not len(self.queue) and not self.queue.active


async def told(process: Process, path: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{process.manager.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.text()


async def make_sources(client: Client, count: int) -> list[Key]:
    for number in range(count):
        metadata = {"name": f"source-{number}", "labels": {"wiring": "source"}}
        body = {"metadata": metadata, "data": {"number": str(number)}}
        await client.send(requests.create(kinds.CONFIG_MAP, NS, body, Anything))
    return [Key(NS, f"source-{number}") for number in range(count)]


async def settle_and_look_again(process: Process, counted: Counted, keys: list[Key]) -> None:
    children = process.mirror.store(CHILDREN)
    await until(lambda: len(children) == len(keys) and process.idle)
    before, sent = process.copier.passes, counted.writes("ConfigMap")
    assert sent == len(keys)
    for key in keys:
        process.queue.add(key)
    await until(lambda: process.copier.passes == before + len(keys))
    assert counted.writes("ConfigMap") == sent


async def spoil_and_see_it_repaired(client: Client, child: Key) -> None:
    spoilt = {"data": {"number": "spoilt"}}
    await client.send(requests.merge_patch(kinds.CONFIG_MAP, child, spoilt, Anything))
    async with asyncio.timeout(10):
        while True:
            found = await client.send(requests.get(kinds.CONFIG_MAP, child, ConfigMap))
            if found.data == {"number": "0"}:
                return
            await asyncio.sleep(0.01)


def test_a_small_operator_does_its_work_once_and_leaves_in_order(kube: RealKube) -> None:
    counted, metrics = Counted(), Metrics()

    def observe(verb: str, kind: str, code: int, seconds: float) -> None:
        counted(verb, kind, code, seconds)
        metrics.requested(verb, kind, code, seconds)

    async def scenario(outside: Client) -> None:
        async with Client(as_admin(kube), observe=observe) as client:
            process = Process(client, metrics, "whole-0")
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(process.manager.run())
                keys = await make_sources(outside, 5)
                await until(lambda: process.manager.unready() is None)
                await settle_and_look_again(process, counted, keys)
                assert await told(process, "/readyz") == (200, "ok")
                _, exposed = await told(process, "/metrics")
                await spoil_and_see_it_repaired(outside, Key(NS, "source-0-child"))
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.wait_for(asyncio.shield(running), 10)
        lease = await outside.send(requests.get(kinds.LEASE, Key(NS, "whole"), Lease))
        assert not lease.spec.holder_identity
        created = 'windlass_api_requests_total{code="201",kind="ConfigMap",verb="apply"} 5.0'
        assert created in exposed.splitlines()
        assert "windlass_leading 1.0" in exposed.splitlines()

    play(kube, scenario)
