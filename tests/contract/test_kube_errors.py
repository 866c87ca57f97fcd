"""Each class of error, provoked for real."""

import asyncio
import json
import ssl
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.contract.kube_access import as_admin, as_user, make_namespace
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
from windlass.kube.requests import Deletion, Manager, Paging, Selection
from windlass.kube.wire import Anything, Document, Failure
from windlass.testing.kube import RealKube
from windlass.testing.ports import free_ports
from windlass.values.key import Key

NS = "errors"


def run(way: Access, scenario: Callable[[Client], Awaitable[None]]) -> None:
    async def connected() -> None:
        async with Client(way) as client:
            await scenario(client)

    asyncio.run(connected())


def prepared(kube: RealKube) -> Access:
    """The administrator's way, to a server that has our namespace."""
    way = as_admin(kube)

    async def prepare(client: Client) -> None:
        await make_namespace(client, NS)

    run(way, prepare)
    return way


def provoked(way: Access, *calls: requests.Request[Any]) -> KubeError:
    """The error of the last of these calls."""
    caught: list[KubeError] = []

    async def provoke(client: Client) -> None:
        for call in calls[:-1]:
            await client.send(call)
        with pytest.raises(KubeError) as refused:
            await client.send(calls[-1])
        caught.append(refused.value)

    run(way, provoke)
    return caught[0]


def config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **metadata}, "data": {"a": "1"}}


def create(name: str, **metadata: Any) -> requests.Request[ConfigMap]:
    return requests.create(kinds.CONFIG_MAP, NS, config_map(name, **metadata), ConfigMap)


def test_what_is_not_there_is_not_found(kube: RealKube) -> None:
    way = prepared(kube)
    error = provoked(way, requests.get(kinds.CONFIG_MAP, Key(NS, "absent"), ConfigMap))
    assert type(error) is NotFound
    assert error.status.details is not None
    assert error.status.details.name == "absent"


def test_a_kind_that_is_not_installed_is_not_found(kube: RealKube) -> None:
    error = provoked(prepared(kube), requests.list_page(kinds.JOB_SET, Document))
    assert type(error) is NotFound


def test_a_second_of_the_same_name_already_exists(kube: RealKube) -> None:
    assert type(provoked(prepared(kube), create("twice"), create("twice"))) is AlreadyExists


def test_a_change_of_what_has_changed_is_a_conflict(kube: RealKube) -> None:
    stale = config_map("stale", resourceVersion="1")
    put = requests.replace(kinds.CONFIG_MAP, Key(NS, "stale"), stale, ConfigMap)
    assert type(provoked(prepared(kube), create("stale"), put)) is Conflict


def test_a_precondition_that_does_not_hold_is_a_conflict(kube: RealKube) -> None:
    delete = requests.delete(kinds.CONFIG_MAP, Key(NS, "guarded"), Deletion(uid="another"))
    assert type(provoked(prepared(kube), create("guarded"), delete)) is Conflict


def test_a_field_that_another_manager_owns_is_a_conflict_without_force(kube: RealKube) -> None:
    body = config_map("owned", namespace=NS)
    first = requests.apply(kinds.CONFIG_MAP, body, Manager("one"), ConfigMap)
    other = {**body, "data": {"a": "2"}}
    second = requests.apply(kinds.CONFIG_MAP, other, Manager("two", force=False), ConfigMap)
    error = provoked(prepared(kube), first, second)
    assert type(error) is Conflict
    assert [cause.field for cause in error.causes] == [".data.a"]


def test_an_object_that_breaks_rules_is_invalid_and_says_where(kube: RealKube) -> None:
    pod = {"metadata": {"name": "bad"}, "spec": {"containers": [{"name": "No", "image": ""}]}}
    error = provoked(prepared(kube), requests.create(kinds.POD, NS, pod, Pod))
    assert type(error) is Invalid
    fields = {cause.field for cause in error.causes}
    assert {"spec.containers[0].name", "spec.containers[0].image"} <= fields


def test_a_body_that_is_no_object_is_refused(kube: RealKube) -> None:
    error = provoked(prepared(kube), requests.create(kinds.POD, NS, {"spec": 7}, Pod))
    assert type(error) is Refused
    assert error.status.code == 400


def test_who_lacks_the_right_is_forbidden(kube: RealKube) -> None:
    prepared(kube)
    error = provoked(as_user(kube, "nobody"), create("not-mine"))
    assert type(error) is Forbidden
    assert not error.namespace_ends


def test_a_namespace_that_ends_takes_nothing_new(kube: RealKube) -> None:
    name = "errors-ending"  # without a controller manager it ends forever
    way = prepared(kube)
    error = provoked(
        way,
        requests.create(kinds.NAMESPACE, "", {"metadata": {"name": name}}, Anything),
        requests.delete(kinds.NAMESPACE, Key("", name)),
        requests.create(kinds.CONFIG_MAP, name, config_map("late"), ConfigMap),
    )
    assert isinstance(error, Forbidden)
    assert error.namespace_ends


def test_a_wrong_token_is_unauthorized(kube: RealKube) -> None:
    trust = access.trusting(kube.authority.folder / "ca.crt")
    way = Access(kube.server, FixedToken("wrong"), trust)
    assert type(provoked(way, create("nobody"))) is Unauthorized


def test_a_disruption_budget_refuses_and_is_not_mistaken_for_a_busy_server(kube: RealKube) -> None:
    labels = {"app": "guarded"}
    budget = {"minAvailable": 1, "selector": {"matchLabels": labels}}
    pod = {
        "metadata": {"name": "kept", "labels": labels},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    named = {"metadata": {"name": "budget"}, "spec": budget}
    error = provoked(
        prepared(kube),
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
    assert type(provoked(way, create("unheard"))) is Unreachable


def test_a_server_whose_certificate_we_do_not_trust_is_unreachable(kube: RealKube) -> None:
    way = Access(kube.server, FixedToken(), ssl.create_default_context())
    assert type(provoked(way, create("untrusted"))) is Unreachable


def test_an_answer_of_another_shape_is_unreadable(kube: RealKube) -> None:
    error = provoked(prepared(kube), requests.get(kinds.NAMESPACE, Key("", NS), Failure))
    assert type(error) is Unreadable


# --- 410 -----------------------------------------------------------------------------------


def compact(kube: RealKube, revision: int) -> None:
    """Make etcd forget, through its JSON gateway."""
    pki = kube.authority.folder
    tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    tls.load_cert_chain(pki / "apiserver-etcd.crt", pki / "apiserver-etcd.key")
    body = json.dumps({"revision": str(revision), "physical": True}).encode()
    url = f"{kube.masters.place.etcd}/v3/kv/compaction"
    with urllib.request.urlopen(urllib.request.Request(url, body), context=tls) as answer:
        assert answer.status == 200


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


def test_an_old_version_cannot_be_watched_any_more(kube: RealKube) -> None:
    errors: list[KubeError] = []

    async def watch(client: Client) -> None:
        made = await client.send(event("watched-too-late"))
        compact(kube, int(made.metadata.resource_version))
        old = requests.watch(kinds.EVENT, Event, Selection(NS), "2", 5)
        async with aclosing(client.stream(old)) as events:
            async for each in events:
                assert isinstance(each, Failure)
                errors.append(error_of(each.object))

    run(prepared(kube), watch)
    assert [type(error) for error in errors] == [Gone]


def test_an_old_page_cannot_be_continued(kube: RealKube) -> None:
    async def continue_late(client: Client) -> None:
        for number in range(3):
            await client.send(event(f"paged-{number}"))
        ours = Selection(NS)
        first = await client.send(requests.list_page(kinds.EVENT, Event, ours, Paging(1)))
        last = await client.send(event("paged-last"))
        compact(kube, int(last.metadata.resource_version))
        late = Paging(1, first.metadata.continue_)
        with pytest.raises(Gone):
            await client.send(requests.list_page(kinds.EVENT, Event, ours, late))

    run(prepared(kube), continue_late)


# --- who we are ----------------------------------------------------------------------------


def test_a_pod_speaks_by_its_service_account_and_survives_a_new_token(
    kube: RealKube, tmp_path: Path
) -> None:
    token = kube.kubectl("create", "token", "default", "-n", NS).strip()
    host, port = kube.server.removeprefix("https://").split(":")
    (tmp_path / "ca.crt").write_bytes((kube.authority.folder / "ca.crt").read_bytes())
    (tmp_path / "namespace").write_text(NS)
    (tmp_path / "token").write_text("of yesterday")
    variables = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    way = access.in_cluster(variables, tmp_path)
    assert way.namespace == NS

    async def speak(client: Client) -> None:
        with pytest.raises(Unauthorized):
            await client.send(create("before"))
        (tmp_path / "token").write_text(token)
        with pytest.raises(Forbidden):  # known now, but without rights
            await client.send(create("after"))

    run(way, speak)


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

    prepared(kube)
    with pytest.raises(Silent):
        asyncio.run(listen())
