"""Events as the real API server and kubectl see them."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tests.contract.kube_access import as_admin
from windlass.kube import kinds, requests
from windlass.kube.client import Client
from windlass.kube.event_sink import ClientSink
from windlass.kube.events import Create, EventGone, Happening, Patch, Planner, Regarding, Reporter
from windlass.kube.objects import Event
from windlass.testing.kube import RealKube
from windlass.values.key import Key

REPORTER = Reporter("windlass.dev/operator", "operator-0")
NODE = Regarding("v1", "Node", "", "n-0", "uid-of-n-0")
POD = Regarding("v1", "Pod", "default", "w-0", "uid-of-w-0")


@pytest.mark.parametrize("regarding", [POD, NODE], ids=["in a namespace", "of the cluster"])
def test_the_server_takes_an_event_and_its_series(kube: RealKube, regarding: Regarding) -> None:
    plans = Planner(REPORTER)
    happening = Happening(regarding, "Drained", "Drain", "cordoned by jane", related=POD)
    now = datetime.now(UTC)

    async def main() -> None:
        async with Client(as_admin(kube)) as client:
            sink = ClientSink(client)
            first = plans.plan(happening, now)
            assert isinstance(first, Create)
            await sink.create(first)
            again = plans.plan(happening, now + timedelta(seconds=1))
            assert isinstance(again, Patch)
            await sink.patch(again)
            key = Key(first.namespace, first.name)
            stored = await client.send(requests.get(kinds.EVENT, key, Event))
            assert stored.series is not None
            assert stored.series.count == 2
            assert stored.note == "cordoned by jane"

    asyncio.run(main())
    shown = kube.kubectl("events", "-n", regarding.namespace or "default")
    line = next(line for line in shown.splitlines() if f"{regarding.kind}/{regarding.name}" in line)
    assert "Drained" in line
    assert "(x2 over" in line


def test_the_longest_note_and_name_are_taken(kube: RealKube) -> None:
    async def main() -> None:
        async with Client(as_admin(kube)) as client:
            long = Regarding("v1", "Pod", "default", "n" * 253)
            telling = Planner(REPORTER).plan(
                Happening(long, "R", "A", "é" * 2000), datetime.now(UTC)
            )
            assert isinstance(telling, Create)
            await ClientSink(client).create(telling)

    asyncio.run(main())


def test_an_event_that_is_gone_is_told_as_gone(kube: RealKube) -> None:
    async def main() -> None:
        async with Client(as_admin(kube)) as client:
            with pytest.raises(EventGone):
                await ClientSink(client).patch(Patch("default", "gone", {"series": None}))

    asyncio.run(main())
