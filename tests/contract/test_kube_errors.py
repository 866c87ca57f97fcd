"""Each class of error, provoked on the fake API server and on the real one.

What has to do with certificates, tokens, rights and connections is asked of the real one alone.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.contract.kube_access import as_admin, as_user
from tests.contract.kube_world import KubeWorld, RealWorld
from windlass.kube import access, kinds, requests
from windlass.kube.access import Access
from windlass.kube.client import Client, Limits
from windlass.kube.credentials import FixedToken
from windlass.kube.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KubeError,
    NotFound,
    Refused,
    Silent,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    Unreadable,
    error_of,
)
from windlass.kube.objects import ConfigMap, Event, Pod
from windlass.kube.reflector import Talks
from windlass.kube.requests import Deletion, FieldManager, Paging, Selection
from windlass.kube.wire import Anything, Document, Failure
from windlass.testing.kube import RealKube
from windlass.testing.ports import free_ports
from windlass.values.key import Key

NS = "errors"


def run(world: KubeWorld, scenario: Callable[[Talks], Awaitable[None]]) -> None:
    async def connected() -> None:
        async with world.connected(NS) as client:
            await scenario(client)

    asyncio.run(connected())


def run_by(way: Access, scenario: Callable[[Talks], Awaitable[None]]) -> None:
    """The same on a way of one's own to the real server."""

    async def connected() -> None:
        async with Client(way) as client:
            await scenario(client)

    asyncio.run(connected())


def prepare(kube: RealKube) -> None:
    """Make our namespace on the real server."""

    async def nothing_more(_: Talks) -> None:
        pass

    run(RealWorld(kube), nothing_more)


class Provocation:
    """Makes calls, and keeps the error of the last."""

    def __init__(self, *calls: requests.Request[Any]) -> None:
        self.calls = calls
        self.error = KubeError("none yet")

    async def __call__(self, client: Talks) -> None:
        for call in self.calls[:-1]:
            await client.send(call)
        with pytest.raises(KubeError) as refused:
            await client.send(self.calls[-1])
        self.error = refused.value


def provoked(world: KubeWorld, *calls: requests.Request[Any]) -> KubeError:
    provocation = Provocation(*calls)
    run(world, provocation)
    return provocation.error


def provoked_by(way: Access, *calls: requests.Request[Any]) -> KubeError:
    provocation = Provocation(*calls)
    run_by(way, provocation)
    return provocation.error


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "data": {"a": "1"}}


def create(name: str, **metadata: Any) -> requests.Request[ConfigMap]:
    return requests.create(kinds.CONFIG_MAP, NS, config_map(name, **metadata), ConfigMap)


def test_what_is_not_there_is_not_found(world: KubeWorld) -> None:
    error = provoked(world, requests.get(kinds.CONFIG_MAP, Key(NS, "absent"), ConfigMap))
    assert type(error) is NotFound
    assert error.status.details is not None
    assert error.status.details.name == "absent"


def test_a_kind_that_is_not_installed_is_not_found(world: KubeWorld) -> None:
    error = provoked(world, requests.list_page(kinds.JOB_SET, Document))
    assert type(error) is NotFound


def test_a_second_of_the_same_name_already_exists(world: KubeWorld) -> None:
    assert type(provoked(world, create("twice"), create("twice"))) is AlreadyExists


def test_a_change_of_what_has_changed_is_a_conflict(world: KubeWorld) -> None:
    stale = config_map("stale", resourceVersion="1")
    put = requests.replace(kinds.CONFIG_MAP, Key(NS, "stale"), stale, ConfigMap)
    assert type(provoked(world, create("stale"), put)) is Conflict


def test_a_precondition_that_does_not_hold_is_a_conflict(world: KubeWorld) -> None:
    delete = requests.delete(kinds.CONFIG_MAP, Key(NS, "guarded"), Deletion(uid="another"))
    assert type(provoked(world, create("guarded"), delete)) is Conflict


def test_a_field_that_another_manager_owns_is_a_conflict_without_force(
    world: KubeWorld,
) -> None:
    body = config_map("owned", namespace=NS)
    first = requests.apply(kinds.CONFIG_MAP, body, FieldManager("one"), ConfigMap)
    other = {**body, "data": {"a": "2"}}
    second = requests.apply(kinds.CONFIG_MAP, other, FieldManager("two", force=False), ConfigMap)
    error = provoked(world, first, second)
    assert type(error) is Conflict
    assert [cause.field for cause in error.causes] == [".data.a"]


def test_an_object_that_breaks_rules_is_invalid_and_says_where(world: KubeWorld) -> None:
    pod = {"metadata": {"name": "bad"}, "spec": {"containers": [{"name": "No", "image": ""}]}}
    error = provoked(world, requests.create(kinds.POD, NS, pod, Pod))
    assert type(error) is Invalid
    fields = {cause.field for cause in error.causes}
    assert {"spec.containers[0].name", "spec.containers[0].image"} <= fields


def test_a_body_that_is_no_object_is_refused(world: KubeWorld) -> None:
    error = provoked(world, requests.create(kinds.POD, NS, {"spec": 7}, Pod))
    assert type(error) is Refused
    assert error.status.code == 400


def test_who_lacks_the_right_is_forbidden(kube: RealKube) -> None:
    prepare(kube)
    error = provoked_by(as_user(kube, "nobody"), create("not-mine"))
    assert type(error) is Forbidden
    assert not error.namespace_ends


def test_a_namespace_that_ends_takes_nothing_new(world: KubeWorld) -> None:
    name = "errors-ending"  # without a controller manager it ends forever
    error = provoked(
        world,
        requests.create(kinds.NAMESPACE, "", {"metadata": {"name": name}}, Anything),
        requests.delete(kinds.NAMESPACE, Key("", name)),
        requests.create(kinds.CONFIG_MAP, name, config_map("late"), ConfigMap),
    )
    assert isinstance(error, Forbidden)
    assert error.namespace_ends


def test_a_wrong_token_is_unauthorized(kube: RealKube) -> None:
    trust = access.trusting(kube.authority.folder / "ca.crt")
    way = Access(kube.server, FixedToken("wrong"), trust)
    assert type(provoked_by(way, create("nobody"))) is Unauthorized


def test_a_disruption_budget_refuses_and_is_not_mistaken_for_a_busy_server(
    world: KubeWorld,
) -> None:
    labels = {"app": "guarded"}
    budget = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    pod = {
        "metadata": {"name": "kept", "labels": labels},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    named = {"metadata": {"name": "budget"}, "spec": budget}
    error = provoked(
        world,
        requests.create(kinds.POD_DISRUPTION_BUDGET, NS, named, Anything),
        requests.create(kinds.POD, NS, pod, Pod),
        requests.bind(Key(NS, "kept"), "", "n1"),
        requests.merge_patch(kinds.POD, Key(NS, "kept"), ready, Pod, "status"),
        requests.evict(Key(NS, "kept")),
    )
    assert type(error) is TooManyRequests
    assert error.budget


def test_a_server_that_is_down_is_unreachable(kube: RealKube) -> None:
    [port] = free_ports(1)
    way = replace(as_admin(kube), server=f"https://127.0.0.1:{port}")
    assert type(provoked_by(way, create("unheard"))) is Unreachable


def test_a_server_whose_certificate_we_do_not_trust_is_unreachable(kube: RealKube) -> None:
    way = Access(kube.server, FixedToken(), ssl.create_default_context())
    assert type(provoked_by(way, create("untrusted"))) is Unreachable


def test_an_answer_of_another_shape_is_unreadable(world: KubeWorld) -> None:
    error = provoked(world, requests.get(kinds.NAMESPACE, Key("", NS), Failure))
    assert type(error) is Unreadable


# --- 410 -----------------------------------------------------------------------------------


def event(name: str) -> requests.Request[Event]:
    """Events have no watch cache: what etcd forgot is gone.

    Of other kinds the API server keeps snapshots, and serves old versions long after etcd cannot.
    """
    body = {
        "metadata": {"name": name},
        "eventTime": "2026-01-02T03:04:05.000000Z",
        "action": "Testing",
        "reason": "Test",
        "type": "Normal",
        "reportingController": "windlass",
        "reportingInstance": "here",
        "regarding": {"kind": "Pod", "namespace": NS, "name": "x"},
    }
    return requests.create(kinds.EVENT, NS, body, Event)


def test_an_old_version_cannot_be_watched_any_more(world: KubeWorld) -> None:
    errors: list[KubeError] = []

    async def watch(client: Talks) -> None:
        made = await client.send(event("watched-too-late"))
        world.compact(made.metadata.resource_version)
        old = requests.watch(kinds.EVENT, Event, Selection(NS), "2", 5)
        async with aclosing(client.stream(old)) as events:
            async for each in events:
                assert isinstance(each, Failure)
                errors.append(error_of(each.object))

    run(world, watch)
    assert [type(error) for error in errors] == [Gone]


def test_an_old_page_cannot_be_continued(world: KubeWorld) -> None:
    async def continue_late(client: Talks) -> None:
        for number in range(3):
            await client.send(event(f"paged-{number}"))
        ours = Selection(NS)
        first = await client.send(requests.list_page(kinds.EVENT, Event, ours, Paging(1)))
        last = await client.send(event("paged-last"))
        world.compact(last.metadata.resource_version)
        late = Paging(1, first.metadata.continue_)
        with pytest.raises(Gone):
            await client.send(requests.list_page(kinds.EVENT, Event, ours, late))

    run(world, continue_late)


# --- who we are ----------------------------------------------------------------------------


def test_a_pod_speaks_by_its_service_account_and_survives_a_new_token(
    kube: RealKube, tmp_path: Path
) -> None:
    prepare(kube)
    token = kube.kubectl("create", "token", "default", "-n", NS).strip()
    host, port = kube.server.removeprefix("https://").split(":")
    (tmp_path / "ca.crt").write_bytes((kube.authority.folder / "ca.crt").read_bytes())
    (tmp_path / "namespace").write_text(NS)
    (tmp_path / "token").write_text("of yesterday")
    variables = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    way = access.in_cluster(variables, tmp_path)
    assert way.namespace == NS

    async def speak(client: Talks) -> None:
        with pytest.raises(Unauthorized):
            await client.send(create("before"))
        (tmp_path / "token").write_text(token)
        with pytest.raises(Forbidden):  # known now, but without rights
            await client.send(create("after"))

    run_by(way, speak)


def test_a_watch_that_is_quiet_for_too_long_is_silent(kube: RealKube) -> None:
    async def listen() -> None:
        limits = Limits(silence=0.5)
        async with Client(as_admin(kube), limits) as client:
            made = await client.send(create("quiet"))
            version = made.metadata.resource_version
            none = Selection(NS, labels="never=there")
            watch = requests.watch(kinds.CONFIG_MAP, ConfigMap, none, version, 60)
            async with aclosing(client.stream(watch)) as events:
                assert not [event async for event in events]

    prepare(kube)
    with pytest.raises(Silent):
        asyncio.run(listen())
