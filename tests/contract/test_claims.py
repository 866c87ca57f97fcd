"""Who a claim goes with, on the real API server and on the fake."""

from typing import Any

import pytest

from tests.contract.kube_steps import NS, Scenario, create, named, run
from tests.contract.kube_world import KubeWorld
from tests.unit.operator.views import FakeView
from windlass.kube import kinds, requests
from windlass.kube.meta import Meta
from windlass.kube.reflector import Talks
from windlass.kube.wire import Document
from windlass.operator.kube_writes import KubeWrites
from windlass.operator.plan import Own
from windlass.values.key import Key

CLAIM = kinds.PERSISTENT_VOLUME_CLAIM
SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SET = {
    "apiVersion": "slinky.slurm.net/v1beta1",
    "kind": "NodeSet",
    "name": "w",
    "uid": "u-w",
    "blockOwnerDeletion": True,
    "controller": True,
}
POD = {"apiVersion": "v1", "kind": "Pod", "name": "w-0", "uid": "u-w-0"}


class Claim:
    def __init__(self, client: Talks, at: Key, uid: str) -> None:
        self._client = client
        self._writes = KubeWrites(client, FakeView(NS))
        self.at = at
        self.uid = uid

    async def own(
        self, *add: dict[str, Any], remove: tuple[str, ...] = (), uid: str = ""
    ) -> list[dict[str, Any]]:
        """Its owners after it."""
        await self._writes.do(Meta(), Own(CLAIM, self.at, uid or self.uid, add, remove))
        body = (await self._client.send(requests.get(CLAIM, self.at, Document))).body
        return list(body["metadata"].get("ownerReferences") or ())

    async def version(self) -> str:
        found = await self._client.send(requests.get_metadata(CLAIM, self.at))
        return found.metadata.resource_version


async def claim(client: Talks, name: str, *owners: dict[str, Any]) -> Claim:
    body = named(name, spec=SPEC)
    body["metadata"]["ownerReferences"] = list(owners)
    made = await create(client, CLAIM, body)
    return Claim(client, Key(NS, name), made["metadata"]["uid"])


async def an_owner_comes_and_goes(client: Talks) -> None:
    one = await claim(client, "comes")
    assert await one.own(SET) == [SET]
    assert await one.own(remove=("u-w",)) == []


async def owners_of_others_stay(client: Talks) -> None:
    one = await claim(client, "others", POD)
    assert await one.own(SET) == [POD, SET]
    assert await one.own(remove=("u-w",)) == [POD]
    assert await one.own(SET, remove=("u-w-0",)) == [SET]


async def what_is_so_is_not_written(client: Talks) -> None:
    one = await claim(client, "so", SET)
    before = await one.version()
    assert await one.own(SET, remove=("u-w-0",)) == [SET]
    assert await one.version() == before


async def the_next_of_its_name_is_left_alone(client: Talks) -> None:
    one = await claim(client, "next")
    assert await one.own(SET, uid="u-before") == []


SCENARIOS: list[Scenario] = [
    an_owner_comes_and_goes,
    owners_of_others_stay,
    what_is_so_is_not_written,
    the_next_of_its_name_is_left_alone,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_claims_go_with_their_owners(world: KubeWorld, scenario: Scenario) -> None:
    run(world, scenario)
