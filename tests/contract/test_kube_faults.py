"""A client and a mirror behind a bad network: nothing missed, nothing new twice, no task dies."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.contract.kube_access import as_admin, make_namespace
from tests.contract.kube_faults import (
    Fault,
    Proxy,
    babble,
    half_sent,
    hung_up,
    nothing,
    proxied,
    refused,
    silence,
    slow,
)
from windlass.kube import kinds, requests
from windlass.kube.client import Client, Limits
from windlass.kube.errors import KubeError, Refused, TooManyRequests, Unavailable, Unreachable
from windlass.kube.objects import ConfigMap
from windlass.kube.reflector import Reflector
from windlass.kube.requests import Selection
from windlass.kube.watch import ListWatch, Pace, Watched
from windlass.kube.wire import Anything
from windlass.testing.kube import RealKube
from windlass.values.key import Key

QUICK = Limits(first_pause=0.01, silence=0.4, answer=1.0)
PACE = Pace(page=3, first_rest=0.01, longest_rest=0.05)
NS = "faults"


def config_map(name: str, value: str = "1") -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"f": "y"}}, "data": {"v": value, "x": "x" * 500}}


def create(name: str, namespace: str = NS) -> requests.Request[ConfigMap]:
    return requests.create(kinds.CONFIG_MAP, namespace, config_map(name), ConfigMap)


GET = requests.get(kinds.NAMESPACE, Key("", NS), Anything)


def through(kube: RealKube, scenario: Callable[[Client, Proxy], Awaitable[None]]) -> None:
    async def run() -> None:
        way = as_admin(kube)
        async with Client(way) as direct:
            await make_namespace(direct, NS)
        async with proxied(way) as proxy, Client(proxy.access, QUICK, lambda: 0.5) as client:
            await scenario(client, proxy)

    asyncio.run(run())


# --- one request ---------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [hung_up, half_sent(0), half_sent(60)])
def test_a_read_is_tried_again_when_its_connection_breaks(kube: RealKube, fault: Fault) -> None:
    async def read(client: Client, proxy: Proxy) -> None:
        proxy.faults += [fault, fault]
        await client.send(GET)

    through(kube, read)


def test_a_slow_body_is_read_whole(kube: RealKube) -> None:
    async def read(client: Client, proxy: Proxy) -> None:
        proxy.faults += [slow]
        await client.send(GET)
        assert len(proxy.seen) == 1

    through(kube, read)


@pytest.mark.parametrize("fault", [hung_up, half_sent(60)])
def test_a_creation_is_never_sent_twice_on_its_own(kube: RealKube, fault: Fault) -> None:
    async def write(client: Client, proxy: Proxy) -> None:
        proxy.faults += [fault]
        with pytest.raises(Unreachable):
            await client.send(create("once"))
        assert len(proxy.seen) == 1

    through(kube, write)


@pytest.mark.parametrize(
    "write",
    [
        create("stale-connection"),
        requests.delete(kinds.CONFIG_MAP, Key(NS, "absent")),
        requests.replace(kinds.CONFIG_MAP, Key(NS, "absent"), {}, Anything),
    ],
    ids=lambda request: request.method,
)
def test_no_write_is_sent_twice_over_a_connection_that_went_stale(
    kube: RealKube, write: requests.Request[Any]
) -> None:
    async def after_a_read(client: Client, proxy: Proxy) -> None:
        await client.send(GET)
        proxy.faults += [hung_up]
        with pytest.raises(Unreachable):
            await client.send(write)
        assert len(proxy.seen) == 2

    through(kube, after_a_read)


def test_a_busy_server_is_asked_again_when_it_said_when(kube: RealKube) -> None:
    async def write(client: Client, proxy: Proxy) -> None:
        busy = refused(429, "TooManyRequests", **{"Retry-After": "0"})
        proxy.faults += [busy, busy]
        await client.send(create("after-a-while"))
        assert len(proxy.seen) == 3

    through(kube, write)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (refused(429, "TooManyRequests"), TooManyRequests),
        (refused(429, "TooManyRequests", **{"Retry-After": "3600"}), TooManyRequests),
        (refused(500, "InternalError"), Unavailable),
        (refused(503), Unavailable),
        (babble, Unavailable),
        (refused(307), Refused),
    ],
)
def test_what_only_the_caller_can_decide_is_raised_at_once(
    kube: RealKube, fault: Fault, error: type[KubeError]
) -> None:
    async def read(client: Client, proxy: Proxy) -> None:
        proxy.faults += [fault]
        with pytest.raises(error):
            await client.send(GET)
        assert len(proxy.seen) == 1

    through(kube, read)


def test_an_answer_that_never_ends_is_given_up(kube: RealKube) -> None:
    async def read() -> None:
        async with (
            proxied(as_admin(kube)) as proxy,
            Client(proxy.access, Limits(answer=0.3)) as client,
        ):
            proxy.faults += [silence]
            with pytest.raises(Unavailable):
                await client.send(GET)

    asyncio.run(read())


# --- the mirror ----------------------------------------------------------------------------


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


class Witness:
    """Follows a store by what its subscribers are told, and complains of what cannot be."""

    def __init__(self) -> None:
        self.now: dict[str, ConfigMap] = {}
        self.born: list[str] = []

    def __call__(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        name = (new or old).metadata.name  # type: ignore[union-attr]
        assert self.now.get(name) is old
        if new is None:
            del self.now[name]
        else:
            self.now[name] = new
        if old is None:
            self.born.append(name)


def versions(items: list[ConfigMap]) -> dict[str, str]:
    return {item.metadata.name: item.metadata.resource_version for item in items}


WATCH_FAULTS: list[Fault] = [
    hung_up,
    half_sent(0),
    half_sent(700),
    half_sent(2500),
    slow,
    silence,
    babble,
    refused(429, "TooManyRequests"),
    refused(500, "InternalError"),
    refused(410, "Expired"),
    nothing,
]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_mirror_survives_whatever_happens_to_it(kube: RealKube, seed: int) -> None:
    chance = random.Random(seed)
    namespace = f"faults-{seed}"
    ours = Selection(namespace, labels="f=y")
    watched = Watched(kinds.CONFIG_MAP, ConfigMap, ours)

    async def churn(direct: Client) -> None:
        for number in range(40):
            name = f"c-{number % 12}"
            key = Key(namespace, name)
            with suppress(Refused):
                await direct.send(create(name, namespace))
            patch = {"data": {"v": str(number)}}
            await direct.send(requests.merge_patch(kinds.CONFIG_MAP, key, patch, Anything))
            if chance.random() < 0.3:
                await direct.send(requests.delete(kinds.CONFIG_MAP, key))

    async def scenario() -> None:
        way = as_admin(kube)
        async with (
            Client(way) as direct,
            proxied(way) as proxy,
            Client(proxy.access, QUICK, chance.random) as client,
        ):
            await make_namespace(direct, namespace)
            proxy.faults += chance.choices(WATCH_FAULTS, k=25)
            witness = Witness()
            reflector = Reflector(client, ListWatch(watched, chance.random, PACE))
            reflector.store.subscribe(witness)
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(reflector.run())
                await churn(direct)
                await direct.send(create("the-last", namespace))
                await until(lambda: "the-last" in witness.now and not proxy.faults)
                final = await direct.send(requests.list_page(kinds.CONFIG_MAP, ConfigMap, ours))
                task.cancel()
            assert versions(list(reflector.store)) == versions(final.items or [])
            assert set(witness.now) == {item.metadata.name for item in reflector.store}

    asyncio.run(scenario())


def test_a_mirror_lists_once_however_often_its_watch_is_cut(kube: RealKube) -> None:
    ours = Selection(NS, fields="metadata.name=counted")
    watched = Watched(kinds.CONFIG_MAP, ConfigMap, ours)

    async def scenario(client: Client, proxy: Proxy) -> None:
        witness = Witness()
        reflector = Reflector(client, ListWatch(watched, lambda: 0.5, PACE))
        reflector.store.subscribe(witness)
        proxy.faults += [nothing, hung_up, half_sent(0), silence, slow, half_sent(300)]
        async with Client(as_admin(kube)) as direct, asyncio.TaskGroup() as tasks:
            task = tasks.create_task(reflector.run())
            await asyncio.wait_for(reflector.synced.wait(), 10)
            await direct.send(create("counted"))
            patch = {"data": {"v": "2"}}
            key = Key(NS, "counted")
            await until(lambda: "counted" in witness.now)
            await direct.send(requests.merge_patch(kinds.CONFIG_MAP, key, patch, Anything))
            await until(lambda: (witness.now["counted"].data or {})["v"] == "2")
            task.cancel()
        assert witness.born == ["counted"]
        assert sum("watch=true" not in line for line in proxy.seen) == 1

    through(kube, scenario)
