"""Slurms that come and go, in virtual time: an API server and slurmrestds in memory."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from tests.unit.operator.staging import NOW
from windlass.api.controller import Controller
from windlass.kube import kinds, requests
from windlass.kube.kinds import Kind
from windlass.kube.reflector import Mirror
from windlass.kube.wire import Document
from windlass.operator.slurms.clusters import Clusters
from windlass.operator.slurms.place import Place
from windlass.operator.world import RESOURCES, World, watches
from windlass.slurm.call import Response
from windlass.slurm.client import TOKEN_HEADER
from windlass.slurm.model import Node
from windlass.slurm.tokens import claims_of
from windlass.slurm.transport import Message, Transport
from windlass.slurm.versions import Version
from windlass.slurm.wire import WireNode
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import VirtualClock, clock, run
from windlass.values.key import Key

FIRST, SECOND = b"first key", b"second key"
URL = "http://rest-restapi.hpc:6820"
CONTROLLER = msgspec.convert({"metadata": {"name": "slurm", "namespace": "hpc"}}, Controller)


@dataclass
class Site:
    """A Slurm whose slurmctld believes tokens of one key only, and only while they last."""

    fake: FakeSlurm
    key: bytes = FIRST
    users: dict[str, object] = field(default_factory=dict)
    """By the token that was believed."""
    jobs_take: float = 0.0
    """Seconds for a look at jobs."""

    async def round_trip(self, message: Message) -> Response:
        if "/jobs" in message.target:
            await asyncio.sleep(self.jobs_take)
        token = message.headers[TOKEN_HEADER]
        claims = claims_of(token, self.key)
        if claims is not None and int(str(claims["exp"])) > self.fake.cluster.now():
            self.users[token] = claims["sun"]
            self.fake.bad_tokens.discard(token)
        else:
            self.fake.bad_tokens.add(token)
        return await self.fake.round_trip(message)

    async def close(self) -> None:
        """There is nothing to close."""

    def set(self, name: str, state: str, reason: str = "") -> None:
        cluster = self.fake.cluster
        cluster.nodes[name] = WireNode(name=name, state=state.split("+"), reason=reason, cpus=4)
        cluster.touch("nodes")


@dataclass
class Stage:
    kube: FakeKube
    clusters: Clusters
    slurms: dict[str, Site]
    open: list[str]
    """The addresses that are dialled now."""
    woken: list[str]
    parts: list[asyncio.Task[None]]

    async def create(self, kind: Kind, name: str, **fields: Any) -> None:
        meta = {"name": name, "namespace": "hpc", **fields.pop("metadata", {})}
        body = {"metadata": meta, **fields}
        await self.kube.send(requests.create(kind, "hpc", body, Document))

    async def change(self, kind: Kind, name: str, fields: dict[str, Any]) -> None:
        where = Key("hpc", name)
        await self.kube.send(requests.merge_patch(kind, where, fields, Document))

    async def delete(self, kind: Kind, name: str) -> None:
        await self.kube.send(requests.delete(kind, Key("hpc", name)))

    async def worker(self, name: str, node_set: str) -> None:
        labels = {
            "app.kubernetes.io/name": "slurmd",
            "app.kubernetes.io/instance": node_set,
            "slinky.slurm.net/cluster": "slurm",
            "nodeset.slinky.slurm.net/pod-hostname": name,
        }
        spec = {"containers": [{"name": "slurmd", "image": "x"}]}
        await self.create(kinds.POD, f"pod-{name}", metadata={"labels": labels}, spec=spec)

    def nodes(self) -> Mapping[str, Node] | None:
        seen = self.clusters.seen(CONTROLLER)
        return None if seen is None else seen.nodes

    def state(self, name: str) -> str | None:
        known = self.nodes()
        return str(known[name].state) if known and name in known else None

    async def until(self, true: Callable[[], bool], within: float = 60.0) -> float:
        """How long it took, in virtual seconds."""
        began = clock()
        while not true():
            assert clock() < began + within, "it did not come to that"
            await asyncio.sleep(0.05)
        return clock() - began


def key_of(content: bytes) -> dict[str, Any]:
    return {"data": {"jwt.key": base64.b64encode(content).decode()}}


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    time = VirtualClock()
    slurms = {URL: Site(FakeSlurm(FakeCluster(now=time.now)))}
    dialled: list[str] = []

    def dial(place: Place) -> AbstractAsyncContextManager[Transport]:
        @asynccontextmanager
        async def opened() -> AsyncIterator[Transport]:
            dialled.append(place.url)
            try:
                yield slurms[place.url]
            finally:
                dialled.remove(place.url)

        return opened()

    kube = FakeKube(lambda: NOW, RESOURCES)
    watched = watches(())
    mirror = Mirror(kube, watched)
    world = World(kube, mirror, watched)
    clusters = Clusters(time, dial)
    woken: list[str] = []
    clusters.wire(world, clock, lambda key: woken.append(key.name))
    await kube.send(requests.create(kinds.NAMESPACE, "", {"metadata": {"name": "hpc"}}, Document))
    parts = [asyncio.create_task(mirror.run())]
    try:
        await mirror.synced()
        parts.append(asyncio.create_task(clusters.run(lambda: None)))
        yield Stage(kube, clusters, slurms, dialled, woken, parts)
        assert not any(part.done() for part in parts)
    finally:
        for part in parts:
            part.cancel()
        await asyncio.wait(parts)
    assert dialled == []


def story(body: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    """Of a cluster with a RestApi, a key, three workers of two sets, and a Slurm that answers."""

    async def main() -> None:
        async with staged() as stage:
            site = stage.slurms[URL]
            for name in ("a-0", "a-1", "b-0"):
                site.set(name, "IDLE")
            await stage.create(kinds.CONTROLLER, "slurm", spec={})
            await stage.create(kinds.SECRET, "slurm-auth-jwt", **key_of(FIRST))
            await stage.create(kinds.REST_API, "rest", spec={"controllerRef": {"name": "slurm"}})
            for node_set in ("a", "b"):
                reference = {"controllerRef": {"name": "slurm"}}
                await stage.create(kinds.NODE_SET, node_set, spec=reference)
            for name in ("a-0", "a-1", "b-0"):
                await stage.worker(name, name[0])
            assert stage.nodes() is None
            await stage.until(lambda: stage.nodes() is not None)
            await asyncio.sleep(3)
            await body(stage)

    run(main())


# --- what is seen -----------------------------------------------------------------------------


def test_slurm_is_read_in_the_name_of_its_own_user_and_all_sets_are_woken() -> None:
    async def body(stage: Stage) -> None:
        assert set(stage.nodes() or ()) == {"a-0", "a-1", "b-0"}
        assert set(stage.slurms[URL].users.values()) == {"slurm"}
        assert set(stage.woken) == {"a", "b"}

    story(body)


def test_a_change_of_a_node_wakes_its_set_and_no_other() -> None:
    async def body(stage: Stage) -> None:
        stage.woken.clear()
        stage.slurms[URL].set("a-1", "MIXED+DRAIN", "disk")

        took = await stage.until(lambda: stage.state("a-1") == "MIXED+DRAIN")

        assert took < 1.0
        assert stage.woken == ["a"]

    story(body)


def test_nobody_is_woken_for_what_jobs_take_of_a_node() -> None:
    async def body(stage: Stage) -> None:
        stage.slurms[URL].set("a-1", "MIXED")
        await stage.until(lambda: stage.state("a-1") == "MIXED")
        stage.woken.clear()
        cluster = stage.slurms[URL].fake.cluster
        cluster.nodes["a-1"].alloc_cpus = 3
        cluster.touch("nodes")

        await stage.until(lambda: (stage.nodes() or {})["a-1"].cpus_allocated == 3)

        assert stage.woken == []

    story(body)


def test_it_is_known_of_which_nodes_the_jobs_have_not_been_read() -> None:
    async def body(stage: Stage) -> None:
        def unread(node: str) -> bool:
            seen = stage.clusters.seen(CONTROLLER)
            assert seen is not None
            return node in seen.unread

        site = stage.slurms[URL]
        site.jobs_take = 2.0
        await asyncio.sleep(5)
        site.set("a-1", "MIXED")
        await stage.until(lambda: stage.state("a-1") == "MIXED")
        assert (unread("a-0"), unread("a-1")) == (False, True)

        took = await stage.until(lambda: not unread("a-1"))

        assert took >= 2.0

    story(body)


def test_a_node_that_a_worker_left_behind_wakes_the_set_of_the_worker() -> None:
    async def body(stage: Stage) -> None:
        stage.woken.clear()
        stage.slurms[URL].set("a-9", "DOWN")
        nodes = stage.slurms[URL].fake.cluster.nodes
        nodes["a-9"].extra = "namespace=hpc,nodeSetName=a,nodeSetUID=u-a"
        stage.slurms[URL].set("b-9", "DOWN")
        nodes["b-9"].extra = "namespace=elsewhere,nodeSetName=b,nodeSetUID=u-b"

        await stage.until(lambda: stage.state("b-9") == "DOWN")

        assert stage.woken == ["a"]

    story(body)


def test_a_node_of_nobody_wakes_nobody() -> None:
    async def body(stage: Stage) -> None:
        stage.woken.clear()
        stage.slurms[URL].set("outside", "IDLE")
        await stage.until(lambda: stage.state("outside") == "IDLE")
        assert stage.woken == []

    story(body)


# --- silence ----------------------------------------------------------------------------------


def cut(fake: FakeSlurm, away: bool) -> None:
    fake.cut = away


def down(fake: FakeSlurm, away: bool) -> None:
    fake.down = away


@pytest.mark.parametrize("silence", [cut, down], ids=["slurmrestd away", "slurmctld away"])
def test_a_silent_slurm_is_not_known_until_it_answers_again(
    silence: Callable[[FakeSlurm, bool], None],
) -> None:
    async def body(stage: Stage) -> None:
        site = stage.slurms[URL]
        stage.woken.clear()
        silence(site.fake, True)
        assert await stage.until(lambda: stage.nodes() is None) < 3.0
        assert set(stage.woken) == {"a", "b"}

        await asyncio.sleep(600)
        assert stage.nodes() is None
        stage.woken.clear()
        site.set("a-0", "DOWN")
        silence(site.fake, False)

        await stage.until(lambda: stage.state("a-0") == "DOWN", within=30)
        assert set(stage.woken) == {"a", "b"}

    story(body)


def test_a_slurm_that_comes_later_than_its_rest_api_is_found() -> None:
    async def main() -> None:
        async with staged() as stage:
            stage.slurms[URL].fake.cut = True
            await stage.create(kinds.CONTROLLER, "slurm", spec={})
            await stage.create(kinds.SECRET, "slurm-auth-jwt", **key_of(FIRST))
            await stage.create(kinds.REST_API, "rest", spec={"controllerRef": {"name": "slurm"}})
            await asyncio.sleep(300)
            assert stage.nodes() is None
            stage.slurms[URL].fake.cut = False
            await stage.until(lambda: stage.nodes() == {})

    run(main())


def test_a_slurmrestd_that_speaks_another_version_is_agreed_with_anew() -> None:
    async def body(stage: Stage) -> None:
        fake = stage.slurms[URL].fake
        fake.versions = frozenset({Version.V42})
        stage.slurms[URL].set("a-0", "DOWN")
        await stage.until(lambda: stage.state("a-0") == "DOWN")

    story(body)


# --- what Kubernetes shows --------------------------------------------------------------------


def test_with_a_new_key_tokens_are_signed_anew_on_the_same_connection() -> None:
    async def body(stage: Stage) -> None:
        site = stage.slurms[URL]
        site.key = SECOND
        await stage.until(lambda: stage.nodes() is None)
        await stage.change(kinds.SECRET, "slurm-auth-jwt", key_of(SECOND))
        await stage.until(lambda: stage.nodes() is not None)
        assert stage.open == [URL]

    story(body)


def test_tokens_are_renewed_before_they_end() -> None:
    async def body(stage: Stage) -> None:
        site = stage.slurms[URL]
        stage.woken.clear()
        await asyncio.sleep(3600)
        assert len(site.users) >= 4
        assert (site.fake.bad_tokens, stage.woken) == (set(), [])

    story(body)


def test_without_a_rest_api_nothing_is_known() -> None:
    async def body(stage: Stage) -> None:
        stage.woken.clear()
        await stage.delete(kinds.REST_API, "rest")
        await stage.until(lambda: stage.open == [])
        assert stage.nodes() is None
        assert set(stage.woken) == {"a", "b"}

        await stage.create(kinds.REST_API, "rest", spec={"controllerRef": {"name": "slurm"}})
        await stage.until(lambda: stage.nodes() is not None)

    story(body)


def test_without_a_controller_or_its_key_nothing_is_asked() -> None:
    async def body(stage: Stage) -> None:
        await stage.delete(kinds.SECRET, "slurm-auth-jwt")
        await stage.until(lambda: stage.open == [])
        await stage.create(kinds.SECRET, "slurm-auth-jwt", **key_of(FIRST))
        await stage.until(lambda: stage.open == [URL])

        await stage.delete(kinds.CONTROLLER, "slurm")
        await stage.until(lambda: stage.open == [])
        assert stage.nodes() is None

    story(body)


def test_the_address_follows_the_oldest_rest_api_and_its_port() -> None:
    async def body(stage: Stage) -> None:
        moved = "http://rest-restapi.hpc:7000"
        stage.slurms[moved] = stage.slurms["http://aa-restapi.hpc:6820"] = stage.slurms[URL]
        await stage.change(kinds.REST_API, "rest", {"spec": {"service": {"port": 7000}}})
        await stage.until(lambda: stage.open == [moved])

        # Of two that are equally old, the one whose name comes first.
        await stage.create(kinds.REST_API, "aa", spec={"controllerRef": {"name": "slurm"}})
        await stage.until(lambda: stage.open == ["http://aa-restapi.hpc:6820"])

    story(body)


def test_a_fault_of_one_slurm_is_tried_again_and_harms_no_other() -> None:
    async def main() -> None:
        async with staged() as stage:
            await stage.create(kinds.CONTROLLER, "slurm", spec={})
            await stage.create(kinds.SECRET, "slurm-auth-jwt", **key_of(FIRST))
            site = stage.slurms.pop(URL)  # dialling it fails
            await stage.create(kinds.REST_API, "rest", spec={"controllerRef": {"name": "slurm"}})
            await asyncio.sleep(100)
            assert stage.nodes() is None
            stage.slurms[URL] = site
            await stage.until(lambda: stage.nodes() is not None, within=61)

    run(main())
