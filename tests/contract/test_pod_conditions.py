"""Conditions of ours among kubelet's, on the real API server and on the fake."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.kube_steps import NS, Scenario, create, fields_of, named, patch, run
from tests.contract.kube_world import KubeWorld
from windlass.kube import kinds, requests
from windlass.kube.errors import Invalid
from windlass.kube.reflector import Talks
from windlass.kube.wire import Anything, Document
from windlass.operator.namesakes import UID
from windlass.operator.plan import ShowConditions
from windlass.operator.showing import show_conditions
from windlass.values.key import Key

TIME = "2026-01-01T00:00:00Z"


def condition(type_: str, message: str = "") -> dict[str, Any]:
    return {"type": type_, "status": "True", "message": message, "lastTransitionTime": TIME}


@dataclass(frozen=True)
class Worker:
    client: Talks
    at: Key
    uid: str

    async def write(self, *conditions: dict[str, Any]) -> None:
        """The whole list, as somebody else."""
        whole = {"status": {"conditions": list(conditions)}}
        request = requests.merge_patch(kinds.POD, self.at, whole, Anything, "status")
        await self.client.send(request)

    async def show(self, *names: str, message: str = "", uid: str = "") -> list[str]:
        """All conditions after it: `Ready=True`."""
        wanted = tuple(condition(f"Slurm{name}", message) for name in names)
        action = ShowConditions(kinds.POD, self.at, uid or self.uid, "Slurm", wanted)
        await show_conditions(self.client, action)
        now = await self.client.send(requests.get(kinds.POD, self.at, Document))
        return [f"{each['type']}={each['status']}" for each in now.body["status"]["conditions"]]


async def pod(client: Talks, name: str) -> Worker:
    """One of which kubelet has spoken."""
    spec = {"containers": [{"name": "c", "image": "i"}]}
    made = await create(client, kinds.POD, named(name, spec=spec))
    worker = Worker(client, Key(NS, name), str(made["metadata"]["uid"]))
    await worker.write(condition("Ready"), condition("Initialized"))
    return worker


async def kubelets_conditions_are_left_alone(client: Talks) -> None:
    worker = await pod(client, "among-others")
    assert await worker.show("Idle") == ["Ready=True", "Initialized=True", "SlurmIdle=True"]
    change = [{"op": "replace", "path": "/status/conditions/0/status", "value": "False"}]
    await client.send(requests.json_patch(kinds.POD, worker.at, change, Anything, "status"))
    others = ["Ready=False", "Initialized=True"]
    both = await worker.show("Mixed", "Drain", message="disk")
    assert both == [*others, "SlurmMixed=True", "SlurmDrain=True"]
    assert await worker.show() == others


async def what_another_wrote_is_taken_away(client: Talks) -> None:
    worker = await pod(client, "written-by-others")
    await worker.write(condition("SlurmIdle"), condition("Ready"), condition("SlurmDrain"))
    assert await worker.show("Drain") == ["Ready=True", "SlurmDrain=True"]
    assert await worker.show() == ["Ready=True"]


async def another_pod_of_that_name_is_left_alone(client: Talks) -> None:
    worker = await pod(client, "another")
    assert await worker.show("Idle", uid="former") == ["Ready=True", "Initialized=True"]
    marked = {"metadata": {"uid": "former", "labels": {"a": "b"}}}
    with pytest.raises(Invalid) as caught:
        await patch(client, kinds.POD, "another", marked)
    assert fields_of(caught.value) == {UID}


SCENARIOS: list[Scenario] = [
    kubelets_conditions_are_left_alone,
    what_another_wrote_is_taken_away,
    another_pod_of_that_name_is_left_alone,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_conditions_of_pods(world: KubeWorld, scenario: Scenario) -> None:
    run(world, scenario)
