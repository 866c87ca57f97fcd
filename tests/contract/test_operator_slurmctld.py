"""The API server takes what is made for a Controller, and a second pass would send nothing."""

import asyncio

import pytest

from tests.contract.kube_world import RealWorld
from tests.unit.operator.slurmctld.test_plan import NOW, WHOLE
from windlass.kube import requests
from windlass.kube.apply import differences
from windlass.kube.kinds import SERVICE_MONITOR, STATEFUL_SET
from windlass.kube.requests import Deletion
from windlass.kube.wire import Document
from windlass.operator.executor import MANAGER
from windlass.operator.plan import Apply, Create
from windlass.operator.slurmctld.plan import plan
from windlass.operator.slurmctld.stateful_set import must_be_made_anew
from windlass.testing.kube import RealKube
from windlass.values.key import Key


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_made_for_a_controller_is_taken_and_stays(kube: RealKube, name: str) -> None:
    asyncio.run(applied_and_read_back(kube, name))


async def applied_and_read_back(kube: RealKube, name: str) -> None:
    actions = plan(WHOLE[name], NOW).actions
    async with RealWorld(kube).connected("lab") as client:
        for action in actions:
            if not isinstance(action, Apply | Create) or action.kind is SERVICE_MONITOR:
                continue
            kind, body = action.kind, action.body
            key = Key("lab", body["metadata"]["name"])
            await client.send(requests.apply(kind, body, MANAGER, Document))
            live = await client.send(requests.get(kind, key, Document))
            assert differences(body, live.body, MANAGER.name) == ()
            if kind is STATEFUL_SET:
                assert not must_be_made_anew(body, live.body)
                await client.send(requests.delete(kind, key, Deletion(uid=live.metadata.uid)))
