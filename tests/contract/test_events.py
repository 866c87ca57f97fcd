"""Events as the real API server and kubectl see them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from tests.contract.plain_api import PlainApi, Refused, connected, run
from windlass.kube.events import Create, Happening, Patch, Planner, Regarding, Reporter
from windlass.testing.kube import RealKube

REPORTER = Reporter("windlass.dev/operator", "operator-0")
NODE = Regarding("v1", "Node", "", "n-0", "uid-of-n-0")
POD = Regarding("v1", "Pod", "default", "w-0", "uid-of-w-0")


@dataclass(frozen=True)
class PlainSink:
    api: PlainApi

    def path(self, namespace: str) -> str:
        return f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"

    async def create(self, event: Create) -> None:
        await self.api.call("POST", self.path(event.namespace), event.body)

    async def patch(self, event: Patch) -> None:
        kind = "application/merge-patch+json"
        path = f"{self.path(event.namespace)}/{event.name}"
        await self.api.call("PATCH", path, event.body, kind)


@pytest.mark.parametrize("regarding", [POD, NODE], ids=["in a namespace", "of the cluster"])
def test_the_server_takes_an_event_and_its_series(kube: RealKube, regarding: Regarding) -> None:
    plans = Planner(REPORTER)
    happening = Happening(regarding, "Drained", "Drain", "cordoned by jane", related=POD)
    now = datetime.now(UTC)

    async def main() -> None:
        async with connected(kube.server, kube.authority.folder) as api:
            sink = PlainSink(api)
            first = plans.plan(happening, now)
            assert isinstance(first, Create)
            await sink.create(first)
            again = plans.plan(happening, now + timedelta(seconds=1))
            assert isinstance(again, Patch)
            await sink.patch(again)
            stored = await api.call("GET", f"{sink.path(first.namespace)}/{first.name}")
            assert stored["series"]["count"] == 2
            assert stored["note"] == "cordoned by jane"

    run(main())
    shown = kube.kubectl("events", "-n", regarding.namespace or "default")
    line = next(line for line in shown.splitlines() if f"{regarding.kind}/{regarding.name}" in line)
    assert "Drained" in line
    assert "(x2 over" in line


def test_the_longest_note_and_name_are_taken(kube: RealKube) -> None:
    async def main() -> None:
        async with connected(kube.server, kube.authority.folder) as api:
            long = Regarding("v1", "Pod", "default", "n" * 253)
            telling = Planner(REPORTER).plan(
                Happening(long, "R", "A", "é" * 2000), datetime.now(UTC)
            )
            assert isinstance(telling, Create)
            await PlainSink(api).create(telling)

    run(main())


def test_an_event_that_is_gone_is_not_found(kube: RealKube) -> None:
    async def main() -> None:
        async with connected(kube.server, kube.authority.folder) as api:
            with pytest.raises(Refused) as caught:
                await PlainSink(api).patch(Patch("default", "gone", {"series": None}))
            assert caught.value.code == 404

    run(main())
