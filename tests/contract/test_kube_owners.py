"""Who owns which field after an apply, alike on the fake API server and on the real one."""

import asyncio
from typing import Any

import pytest

from tests.contract.kube_steps import (
    LABELS,
    NS,
    OF_PODS,
    Json,
    Scenario,
    create,
    named,
    patch,
    refused,
    run,
)
from tests.contract.kube_world import FakeWorld, KubeWorld, RealWorld
from tests.contract.test_kube_apply import NS as APPLIED
from tests.contract.test_kube_apply import RENDERED, applied
from windlass.kube import kinds, requests
from windlass.kube.apply import owned_fields
from windlass.kube.errors import (
    Conflict,
)
from windlass.kube.kinds import Kind
from windlass.kube.reflector import Talks
from windlass.kube.requests import FieldManager
from windlass.kube.wire import Document
from windlass.testing.kube import RealKube


async def what_two_apply_stays_until_both_let_go(client: Talks) -> None:
    def body(**data: str) -> Json:
        return {"metadata": {"name": "shared", "namespace": NS}, "data": data}

    async def apply(manager: str, **data: str) -> Json:
        who = FieldManager(manager, force=False)
        call = requests.apply(kinds.CONFIG_MAP, body(**data), who, Document)
        return dict((await client.send(call)).body.get("data") or {})

    assert await apply("one", a="1", b="1") == {"a": "1", "b": "1"}
    assert await apply("two", a="1") == {"a": "1", "b": "1"}
    assert await apply("one", c="1") == {"a": "1", "c": "1"}
    assert await apply("two") == {"c": "1"}


async def what_another_wrote_is_no_longer_ours(client: Talks) -> None:
    body = {"metadata": {"name": "taken", "namespace": NS}, "data": {"a": "1", "b": "1"}}
    call = requests.apply(kinds.CONFIG_MAP, body, FieldManager("one", force=False), Document)
    await client.send(call)
    live = await patch(client, kinds.CONFIG_MAP, "taken", {"data": {"a": "2", "b": None}})
    assert owned_fields(live, "one") is None
    error = await refused(client, call)
    assert isinstance(error, Conflict)
    assert [cause.field for cause in error.causes] == [".data.a"]
    forced = requests.apply(kinds.CONFIG_MAP, body, FieldManager("one"), Document)
    now = (await client.send(forced)).body
    assert now["data"] == body["data"]
    assert owned_fields(now, "one") == {"f:data": {"f:a": {}, "f:b": {}}}


async def who_owns_nothing_is_not_named(client: Talks) -> None:
    rendered: list[Json] = [{}, {"data": {"a": "1"}}, {}]
    for fields in rendered:
        body = {"metadata": {"name": "unowned", "namespace": NS}, **fields}
        call = requests.apply(kinds.CONFIG_MAP, body, FieldManager("one"), Document)
        now = (await client.send(call)).body
        assert (owned_fields(now, "one") is None) is not bool(fields)


async def items_of_keyed_lists_are_applied_one_by_one(client: Talks) -> None:
    def body(*containers: Json) -> Json:
        template = {"metadata": {"labels": LABELS}, "spec": {"containers": list(containers)}}
        spec = {**OF_PODS, "template": template}
        return {"metadata": {"name": "listed", "namespace": NS}, "spec": spec}

    async def apply(manager: str, body: Json) -> dict[str, str]:
        call = requests.apply(kinds.DEPLOYMENT, body, FieldManager(manager, force=False), Document)
        spec = (await client.send(call)).body["spec"]["template"]["spec"]
        return {each["name"]: each["image"] for each in spec["containers"]}

    a, b = {"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}
    assert await apply("one", body(a, b)) == {"a": "a:1", "b": "b:1"}
    assert await apply("two", body({"name": "c", "image": "c:1"})) == {
        "a": "a:1",
        "b": "b:1",
        "c": "c:1",
    }
    assert await apply("one", body(a)) == {"a": "a:1", "c": "c:1"}
    call = requests.apply(
        kinds.DEPLOYMENT,
        body({"name": "c", "image": "c:2"}),
        FieldManager("one", force=False),
        Document,
    )
    error = await refused(client, call)
    where = '.spec.template.spec.containers[name="c"].image'
    assert [cause.field for cause in error.causes] == [where]


async def a_status_is_applied_beside_the_rest(client: Talks) -> None:
    kind = kinds.DEPLOYMENT
    await create(client, kind, named("reported", spec=OF_PODS))
    for replicas in (2, 3):
        conditions = [{"type": "Available", "status": "True"}]
        status = {"replicas": replicas, "conditions": conditions}
        body = {"metadata": {"name": "reported", "namespace": NS}, "status": status}
        call = requests.apply(kind, body, FieldManager("one"), Document, "status")
        now = (await client.send(call)).body
        assert now["status"]["replicas"] == replicas
    assert owned_fields(now, "one", "status") == {
        "f:status": {
            "f:replicas": {},
            "f:conditions": {
                'k:{"type":"Available"}': {".": {}, "f:type": {}, "f:status": {}},
            },
        }
    }
    assert owned_fields(now, "one") is None


SCENARIOS: list[Scenario] = [
    what_two_apply_stays_until_both_let_go,
    what_another_wrote_is_no_longer_ours,
    who_owns_nothing_is_not_named,
    items_of_keyed_lists_are_applied_one_by_one,
    a_status_is_applied_beside_the_rest,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_api_server(world: KubeWorld, scenario: Scenario) -> None:
    run(world, scenario)


@pytest.mark.parametrize(("kind", "body"), RENDERED, ids=lambda value: getattr(value, "plural", ""))
def test_the_fake_knows_the_same_owners_as_the_real_one(
    kube: RealKube, kind: Kind, body: Json
) -> None:
    async def owned(world: KubeWorld) -> Any:
        async with world.connected(APPLIED) as client:
            return owned_fields(await applied(client, kind, body), "windlass-test")

    assert asyncio.run(owned(FakeWorld())) == asyncio.run(owned(RealWorld(kube)))
