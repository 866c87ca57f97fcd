"""Each request is counted, and no write goes out that the guard forbids."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.contract.kube_access import as_admin
from tests.contract.kube_faults import Proxy, proxied, refused
from windlass.kube import kinds, requests
from windlass.kube.client import Client
from windlass.kube.guard import Guarded
from windlass.kube.leader import NotLeading
from windlass.kube.requests import Selection
from windlass.kube.wire import Anything, Document
from windlass.testing.kube import RealKube
from windlass.values.key import Key

GET = requests.get(kinds.NAMESPACE, Key("", "default"), Anything)
BUSY = refused(429, "TooManyRequests", **{"Retry-After": "0"})


def create(name: str) -> requests.Request[Anything]:
    return requests.create(kinds.CONFIG_MAP, "default", {"metadata": {"name": name}}, Anything)


@asynccontextmanager
async def behind_a_proxy(kube: RealKube) -> AsyncIterator[tuple[Client, Proxy, list[str]]]:
    counted: list[str] = []

    def observe(verb: str, kind: str, code: int, seconds: float) -> None:
        assert 0 <= seconds < 30
        counted.append(f"{verb} {kind} {code}")

    async with (
        proxied(as_admin(kube)) as proxy,
        Client(proxy.access, observe=observe) as client,
    ):
        yield client, proxy, counted


def test_each_time_a_request_goes_out_is_counted_with_what_came_back(kube: RealKube) -> None:
    async def main() -> None:
        async with behind_a_proxy(kube) as (client, proxy, counted):
            proxy.faults += [BUSY]
            await client.send(GET)
            async for _ in client.stream(
                requests.watch(kinds.NAMESPACE, Document, Selection(), "", 1)
            ):
                pass
            assert counted == [
                "get Namespace 429",
                "get Namespace 200",
                "watch Namespace 200",
            ]

    asyncio.run(main())


def test_a_server_that_is_not_there_is_counted_as_no_answer(kube: RealKube) -> None:
    async def main() -> None:
        async with behind_a_proxy(kube) as (client, _, counted):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await client.send(GET)
            assert counted == ["get Namespace 0"]

    asyncio.run(main())


def test_who_lost_the_lease_while_a_write_waited_to_go_out_again_does_not_send_it(
    kube: RealKube,
) -> None:
    async def main() -> None:
        async with behind_a_proxy(kube) as (client, proxy, _):
            asked: list[int] = []

            def check() -> None:
                asked.append(len(proxy.seen))
                if proxy.seen:
                    raise NotLeading("lost")

            proxy.faults += [BUSY]
            guarded = Guarded(client, check)
            with pytest.raises(NotLeading):
                await guarded.send(create("guarded"))
            assert len(proxy.seen) == 1
            assert asked == [0, 1]
            await guarded.send(GET)
            assert len(asked) == 2

    asyncio.run(main())
