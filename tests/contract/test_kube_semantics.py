"""What API servers do besides answering: versions, generations, rules, and how objects end.

Controllers rely on these, so the fake has to do them as the real one does.
"""

from ipaddress import IPv4Address

import pytest

from tests.contract.kube_steps import (
    CONTAINERS,
    LABELS,
    NS,
    OF_PODS,
    Json,
    Scenario,
    create,
    fields_of,
    heard,
    named,
    names,
    patch,
    refused,
    run,
)
from tests.contract.kube_world import KubeWorld
from windlass.kube import kinds, requests
from windlass.kube.apply import differences
from windlass.kube.errors import Conflict, Invalid, NotFound, Refused, TooManyRequests, Unavailable
from windlass.kube.kinds import Kind
from windlass.kube.meta import PartialObject
from windlass.kube.objects import ConfigMap, Pod
from windlass.kube.reflector import Talks
from windlass.kube.requests import Deletion, FieldManager, Selection
from windlass.kube.wire import Anything, Deleted, Document, Modified
from windlass.values.key import Key

# --- versions and generations --------------------------------------------------------------


async def a_write_that_changes_nothing_makes_no_version(client: Talks) -> None:
    made = await create(client, kinds.CONFIG_MAP, named("same", data={"a": "1"}))
    again = await patch(client, kinds.CONFIG_MAP, "same", {"data": {"a": "1"}})
    assert again == made
    body = {"metadata": {"name": "same-applied", "namespace": NS}, "data": {"a": "1"}}
    call = requests.apply(kinds.CONFIG_MAP, body, FieldManager("one"), Document)
    assert (await client.send(call)).body == (await client.send(call)).body


async def only_the_spec_counts_as_a_generation(client: Talks) -> None:
    kind = kinds.DEPLOYMENT
    made = await create(client, kind, named("generations", spec=OF_PODS))
    labelled = await patch(client, kind, "generations", {"metadata": {"labels": {"b": "c"}}})
    scaled = await patch(client, kind, "generations", {"spec": {"replicas": 3}})
    key, status = Key(NS, "generations"), {"status": {"replicas": 3}}
    call = requests.merge_patch(kind, key, status, Document, "status")
    reported = (await client.send(call)).body
    bodies = (made, labelled, scaled, reported)
    assert [body["metadata"]["generation"] for body in bodies] == [1, 1, 2, 2]
    assert reported["status"]["replicas"] == 3


async def some_kinds_have_no_generations(client: Talks) -> None:
    budget = named("counted", spec={"selector": {"matchLabels": LABELS}, "minAvailable": 1})
    pod = named("counted", spec={"containers": CONTAINERS})
    bodies: list[tuple[Kind, Json]] = [
        (kinds.POD, pod),
        (kinds.STATEFUL_SET, named("counted", spec=OF_PODS)),
        (kinds.POD_DISRUPTION_BUDGET, budget),
        (kinds.CONFIG_MAP, named("counted")),
        (kinds.SECRET, named("counted")),
        (kinds.LEASE, named("counted")),
        (kinds.NODE, named("counted")),
        (kinds.NAMESPACE, named("counted")),
        (kinds.SERVICE_ACCOUNT, named("counted")),
        (kinds.ROLE, named("counted")),
        (kinds.CONTROLLER_REVISION, named("counted", revision=1, data={})),
        (kinds.PRIORITY_CLASS, named("counted", value=1)),
        (kinds.VALIDATING_WEBHOOKS, named("counted")),
        (kinds.STORAGE_CLASS, named("counted", provisioner="a.b/c")),
        (kinds.ENDPOINT_SLICE, named("counted", addressType="IPv4", endpoints=[])),
    ]
    counted = {
        kind.plural
        for kind, body in bodies
        if "generation" in (await create(client, kind, body))["metadata"]
    }
    assert counted == {
        "pods",
        "statefulsets",
        "poddisruptionbudgets",
        "priorityclasses",
        "validatingwebhookconfigurations",
        "endpointslices",
    }


async def a_status_is_written_on_its_own_path_only(client: Talks) -> None:
    status = {"disruptionsAllowed": 5}
    spec = {"selector": {"matchLabels": {"app": "nobody"}}, "minAvailable": 1}
    made = await create(client, kinds.POD_DISRUPTION_BUDGET, named("b", spec=spec, status=status))
    assert not made.get("status", {}).get("disruptionsAllowed")
    key, both = Key(NS, "b"), {"spec": {"minAvailable": 2}, "status": status}
    now = await patch(client, kinds.POD_DISRUPTION_BUDGET, "b", both)
    assert not now.get("status", {}).get("disruptionsAllowed")
    call = requests.merge_patch(kinds.POD_DISRUPTION_BUDGET, key, both, Document, "status")
    spec = {"spec": {"minAvailable": 7}, "status": status}
    now = (await client.send(call)).body
    assert (now["spec"]["minAvailable"], now["status"]["disruptionsAllowed"]) == (2, 5)


# --- writing -------------------------------------------------------------------------------


async def names_can_be_made_by_the_server(client: Talks) -> None:
    body = {"metadata": {"generateName": "made-"}}
    made = [await create(client, kinds.CONFIG_MAP, body) for _ in range(3)]
    given = {each["metadata"]["name"] for each in made}
    assert len(given) == 3
    assert all(name.startswith("made-") and len(name) == 10 for name in given)


async def a_namespace_must_be_there(client: Talks) -> None:
    call = requests.create(kinds.CONFIG_MAP, "nowhere", named("lost"), ConfigMap)
    error = await refused(client, call)
    assert isinstance(error, NotFound)
    assert error.status.details is not None
    assert (error.status.details.kind, error.status.details.name) == ("namespaces", "nowhere")
    assert await names(client, kinds.CONFIG_MAP, Selection("nowhere")) == []


async def old_versions_and_other_uids_are_conflicts(client: Talks) -> None:
    made = await create(client, kinds.CONFIG_MAP, named("raced"))
    await patch(client, kinds.CONFIG_MAP, "raced", {"data": {"a": "1"}})
    key, version = Key(NS, "raced"), made["metadata"]["resourceVersion"]
    old = {"metadata": {"resourceVersion": version}, "data": {"a": "2"}}
    body = {"metadata": {"name": "raced", "namespace": NS, "resourceVersion": version}}
    other = {"metadata": {"name": "raced", "uid": "another"}}
    for call in (
        requests.merge_patch(kinds.CONFIG_MAP, key, old, Anything),
        requests.apply(kinds.CONFIG_MAP, body, FieldManager("one"), Anything),
        requests.replace(kinds.CONFIG_MAP, key, other, Anything),
        requests.delete(kinds.CONFIG_MAP, key, Deletion(version=version)),
    ):
        assert type(await refused(client, call)) is Conflict


async def a_lease_is_not_replaced_blindly(client: Talks) -> None:
    await create(client, kinds.LEASE, named("guarded"))
    put = requests.replace(kinds.LEASE, Key(NS, "guarded"), named("guarded"), Anything)
    assert fields_of(await refused(client, put)) == {"metadata.resourceVersion"}
    await create(client, kinds.CONFIG_MAP, named("unguarded"))
    key = Key(NS, "unguarded")
    await client.send(requests.replace(kinds.CONFIG_MAP, key, named("unguarded"), Anything))


async def leases_and_roles_are_made_by_replacing_nothing(client: Talks) -> None:
    for kind in (kinds.LEASE, kinds.ROLE):
        put = requests.replace(kind, Key(NS, "put"), named("put"), PartialObject)
        assert (await client.send(put)).metadata.uid
    put = requests.replace(kinds.CONFIG_MAP, Key(NS, "put"), named("put"), PartialObject)
    assert isinstance(await refused(client, put), NotFound)


async def operations_that_do_not_fit_change_nothing(client: Talks) -> None:
    made = await create(client, kinds.CONFIG_MAP, named("operated", data={"a": "1"}))
    key = Key(NS, "operated")
    add = {"op": "add", "path": "/data/b", "value": "2"}
    misfits: list[Json] = [
        {"op": "test", "path": "/data/a", "value": "2"},
        {"op": "test", "path": "/metadata/resourceVersion", "value": "1"},
        {"op": "remove", "path": "/data/c"},
        {"op": "test", "path": "/absent/c", "value": None},
        {"op": "add", "path": "/absent/c", "value": "1"},
        {"op": "move", "from": "/data/c", "path": "/data/d"},
        {"op": "replace", "path": "/data", "value": 7},
        {"op": "guess", "path": "/data", "value": {}},
    ]
    for misfit in misfits:
        call = requests.json_patch(kinds.CONFIG_MAP, key, [add, misfit], Anything)
        assert type(await refused(client, call)) is Invalid
    assert (await client.send(requests.get(kinds.CONFIG_MAP, key, Document))).body == made
    moves: list[Json] = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "test", "path": "/data/absent", "value": None},
        {"op": "replace", "path": "/data/new", "value": "1"},
        {"op": "copy", "from": "/data/a", "path": "/data/x"},
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "copy", "from": "/data/a", "path": "/metadata/annotations/x~1y"},
        {"op": "move", "from": "/data/a", "path": "/data/z"},
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/c"]},
        {"op": "add", "path": "/metadata/finalizers/0", "value": "a.b/d"},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]
    now = await client.send(requests.json_patch(kinds.CONFIG_MAP, key, moves, Document))
    assert now.body["data"] == {"x": "1", "z": "1", "new": "1"}
    assert now.metadata.annotations == {"x/y": "1"}
    assert now.metadata.finalizers == ["a.b/d"]


async def rules_that_are_broken_are_named(client: Talks) -> None:
    def create(kind: Kind, body: Json) -> requests.Request[Anything]:
        return requests.create(kind, NS, body, Anything)

    labelled = {"metadata": {"name": "ok", "labels": {"a": "not ok"}}}
    other = {**OF_PODS, "selector": {"matchLabels": {"app": "b"}}}
    bare = {"template": OF_PODS["template"]}
    for call, field in (
        (create(kinds.CONFIG_MAP, named("Upper")), "metadata.name"),
        (create(kinds.SERVICE, named("dot.ted", spec={"clusterIP": "None"})), "metadata.name"),
        (create(kinds.CONFIG_MAP, {}), "metadata.name"),
        (create(kinds.CONFIG_MAP, labelled), "metadata.labels"),
        (create(kinds.POD, named("empty", spec={"containers": []})), "spec.containers"),
        (create(kinds.DEPLOYMENT, named("bare", spec=bare)), "spec.selector"),
        (create(kinds.DEPLOYMENT, named("odd", spec=other)), "spec.template.metadata.labels"),
    ):
        assert field in fields_of(await refused(client, call))


async def bodies_that_contradict_the_path_are_refused(client: Talks) -> None:
    elsewhere = {"metadata": {"name": "a", "namespace": "elsewhere"}}
    await create(client, kinds.CONFIG_MAP, named("here"))
    key = Key(NS, "here")
    for call in (
        requests.create(kinds.CONFIG_MAP, NS, elsewhere, Anything),
        requests.replace(kinds.CONFIG_MAP, key, named("there"), Anything),
    ):
        error = await refused(client, call)
        assert (type(error), error.status.code) == (Refused, 400)
    versioned = {"metadata": {"name": "b", "resourceVersion": "1"}}
    with pytest.raises(Unavailable):  # meant as a 400, said as a 500
        await client.send(requests.create(kinds.CONFIG_MAP, NS, versioned, Anything))


async def some_fields_never_change(client: Talks) -> None:
    pod = {"containers": CONTAINERS, "nodeSelector": {"a": "b"}}
    cases: list[tuple[Kind, Json, Json, str]] = [
        (
            kinds.DEPLOYMENT,
            {"spec": OF_PODS},
            {"selector": {"matchLabels": {"b": "c"}}},
            "spec.selector",
        ),
        (kinds.STATEFUL_SET, {"spec": OF_PODS}, {"serviceName": "other"}, "spec"),
        (kinds.POD, {"spec": pod}, {"hostname": "other"}, "spec"),
        (
            kinds.POD,
            {"spec": pod},
            {"containers": [{"name": "a", "image": "a", "tty": True}]},
            "spec",
        ),
    ]
    for number, (kind, body, spec, field) in enumerate(cases):
        await create(client, kind, named(f"fixed-{number}", **body))
        key = Key(NS, f"fixed-{number}")
        call = requests.merge_patch(kind, key, {"spec": spec}, Anything)
        assert field in fields_of(await refused(client, call))
    await create(client, kinds.CONFIG_MAP, named("frozen", immutable=True, data={"a": "1"}))
    key, change = Key(NS, "frozen"), {"data": {"a": "2"}}
    call = requests.merge_patch(kinds.CONFIG_MAP, key, change, Anything)
    assert fields_of(await refused(client, call)) == {"data"}
    image = {"op": "replace", "path": "/spec/containers/0/image", "value": "b"}
    await client.send(requests.json_patch(kinds.POD, Key(NS, "fixed-2"), [image], Anything))


# --- addresses of Services -----------------------------------------------------------------

PORTS: Json = {"ports": [{"port": 80}]}


async def services_have_an_address_from_their_first_moment(client: Talks) -> None:
    made = await create(client, kinds.SERVICE, named("plain", spec=PORTS))
    body = {"metadata": {"name": "applied", "namespace": NS}, "spec": PORTS}
    call = requests.apply(kinds.SERVICE, body, FieldManager("one"), Document)
    applied = (await client.send(call)).body
    addresses = [each["spec"]["clusterIP"] for each in (made, applied)]
    assert len({IPv4Address(address) for address in addresses}) == 2
    assert made["spec"]["clusterIPs"] == addresses[:1]
    again = (await client.send(call)).body
    assert again == applied
    assert differences(body, again, "one") == ()


async def some_services_have_no_address(client: Talks) -> None:
    headless = await create(client, kinds.SERVICE, named("bare", spec={"clusterIP": "None"}))
    assert headless["spec"]["clusterIP"] == "None"
    spec = {"type": "ExternalName", "externalName": "a.example"}
    alias = await create(client, kinds.SERVICE, named("alias", spec=spec))
    assert "clusterIP" not in alias["spec"]


async def a_service_keeps_its_address(client: Talks) -> None:
    made = await create(client, kinds.SERVICE, named("stays", spec=PORTS))
    address, key = made["spec"]["clusterIP"], Key(NS, "stays")
    body = named("stays", spec={"ports": [{"port": 81}]})
    replaced = await client.send(requests.replace(kinds.SERVICE, key, body, Document))
    assert replaced.body["spec"]["clusterIP"] == address
    headless = requests.merge_patch(kinds.SERVICE, key, {"spec": {"clusterIP": "None"}}, Anything)
    assert fields_of(await refused(client, headless)) == {"spec.clusterIPs[0]"}


async def a_service_gets_and_loses_its_address_with_its_type(client: Talks) -> None:
    await create(client, kinds.SERVICE, named("turns", spec=PORTS))
    alias = {"type": "ExternalName", "externalName": "a.example"}
    turned = await patch(client, kinds.SERVICE, "turns", {"spec": alias})
    assert "clusterIP" not in turned["spec"]
    back = {"type": "ClusterIP", "externalName": None}
    turned = await patch(client, kinds.SERVICE, "turns", {"spec": back})
    assert IPv4Address(turned["spec"]["clusterIP"]).is_private


# --- ends ----------------------------------------------------------------------------------


async def finalizers_hold_an_object_until_they_are_gone(client: Talks) -> None:
    body = {"metadata": {"name": "held", "finalizers": ["a.b/c"]}}
    made = await create(client, kinds.CONFIG_MAP, body)
    key, kind = Key(NS, "held"), kinds.CONFIG_MAP
    await client.send(requests.delete(kind, key))
    marked = await client.send(requests.get(kind, key, ConfigMap))
    assert marked.metadata.deletion_timestamp is not None
    more = {"metadata": {"finalizers": ["a.b/c", "a.b/d"]}}
    error = await refused(client, requests.merge_patch(kind, key, more, Anything))
    assert fields_of(error) == {"metadata.finalizers"}
    await client.send(requests.delete(kind, key))
    await patch(client, kind, "held", {"metadata": {"finalizers": None}})
    assert isinstance(await refused(client, requests.get(kind, key, Anything)), NotFound)
    one = Selection(NS, fields="metadata.name=held")
    seen = await heard(client, kind, one, made["metadata"]["resourceVersion"], 2)
    assert [type(event) for event in seen] == [Modified, Deleted]


async def pods_that_may_run_are_given_time(client: Talks) -> None:
    for name in ("waits", "runs"):
        await create(client, kinds.POD, named(name, spec={"containers": CONTAINERS}))
    await client.send(requests.bind(Key(NS, "runs"), "", "n1"))
    for name in ("waits", "runs"):
        await client.send(requests.delete(kinds.POD, Key(NS, name)))
    get = [requests.get(kinds.POD, Key(NS, name), Pod) for name in ("waits", "runs")]
    assert isinstance(await refused(client, get[0]), NotFound)
    ends = (await client.send(get[1])).metadata
    assert ends.deletion_timestamp is not None
    assert ends.creation_timestamp is not None
    assert 29 <= (ends.deletion_timestamp - ends.creation_timestamp).total_seconds() <= 60
    assert ends.generation == 2
    await client.send(requests.delete(kinds.POD, Key(NS, "runs"), Deletion(grace_seconds=0)))
    assert isinstance(await refused(client, get[1]), NotFound)


async def a_pod_is_bound_once(client: Talks) -> None:
    await create(client, kinds.POD, named("bound-once", spec={"containers": CONTAINERS}))
    bind = requests.bind(Key(NS, "bound-once"), "", "n1")
    assert type(await refused(client, bind, bind)) is Conflict
    pod = await client.send(requests.get(kinds.POD, Key(NS, "bound-once"), Pod))
    conditions = {each.type: each.status for each in pod.status.conditions or ()}
    assert conditions == {"PodScheduled": "True"}


async def a_binding_brings_its_labels_and_annotations(client: Talks) -> None:
    notes = {"labels": {"kept": "1", "job": "1"}, "annotations": {"kept": "1", "node": "n0"}}
    body = {"metadata": {"name": "told", **notes}, "spec": {"containers": CONTAINERS}}
    made = await create(client, kinds.POD, body)
    told = requests.bind(
        Key(NS, "told"),
        made["metadata"]["uid"],
        "n1",
        labels={"job": "7"},
        annotations={"node": "n1", "job": "7"},
    )
    await client.send(told)
    pod = await client.send(requests.get(kinds.POD, Key(NS, "told"), Pod))
    assert pod.spec.node_name == "n1"
    assert pod.metadata.labels == {"kept": "1", "job": "7"}
    assert pod.metadata.annotations == {"kept": "1", "node": "n1", "job": "7"}


async def a_finalizer_is_added_by_operations_unless_others_were_faster(client: Talks) -> None:
    body = {"metadata": {"name": "marked"}, "spec": {"containers": CONTAINERS}}
    await create(client, kinds.POD, body)
    mark: list[Json] = [
        {"op": "test", "path": "/metadata/finalizers", "value": None},
        {"op": "add", "path": "/metadata/finalizers", "value": ["a.b/c"]},
    ]
    key = Key(NS, "marked")
    marks = requests.json_patch(kinds.POD, key, mark, Pod)
    assert (await client.send(marks)).metadata.finalizers == ["a.b/c"]
    assert isinstance(await refused(client, marks), Invalid)
    more = [{"op": "add", "path": "/metadata/finalizers/-", "value": "d.e/f"}]
    second = requests.json_patch(kinds.POD, key, more, Pod)
    assert (await client.send(second)).metadata.finalizers == ["a.b/c", "d.e/f"]
    await client.send(requests.delete(kinds.POD, key))
    last = [{"op": "add", "path": "/metadata/finalizers/-", "value": "g.h/i"}]
    assert isinstance(
        await refused(client, requests.json_patch(kinds.POD, key, last, Pod)), Invalid
    )
    await patch(client, kinds.POD, "marked", {"metadata": {"finalizers": None}})


async def a_budget_is_spent_by_evictions(client: Talks) -> None:
    labels = {"app": "evicted"}
    spec = {"selector": {"matchLabels": labels}, "minAvailable": 1}
    made = await create(client, kinds.POD_DISRUPTION_BUDGET, named("spent", spec=spec))
    counts = {"currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
    status = {"disruptionsAllowed": 1, "observedGeneration": 1, **counts}
    assert made["metadata"]["generation"] == 1
    key = Key(NS, "spent")
    kind = kinds.POD_DISRUPTION_BUDGET
    await client.send(requests.merge_patch(kind, key, {"status": status}, Anything, "status"))
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for name in ("first", "second"):
        body = {"metadata": {"name": name, "labels": labels}, "spec": {"containers": CONTAINERS}}
        await create(client, kinds.POD, body)
        pod = Key(NS, name)
        await client.send(requests.bind(pod, "", "n1"))
        call = requests.merge_patch(kinds.POD, pod, {"status": ready}, Anything, "status")
        await client.send(call)
    error = await refused(
        client, requests.evict(Key(NS, "first")), requests.evict(Key(NS, "second"))
    )
    assert isinstance(error, TooManyRequests)
    assert error.budget
    now = (await client.send(requests.get(kind, key, Document))).body["status"]
    assert now["disruptionsAllowed"] == 0
    assert list(now["disruptedPods"]) == ["first"]


SCENARIOS: list[Scenario] = [
    a_write_that_changes_nothing_makes_no_version,
    only_the_spec_counts_as_a_generation,
    some_kinds_have_no_generations,
    a_status_is_written_on_its_own_path_only,
    names_can_be_made_by_the_server,
    a_namespace_must_be_there,
    old_versions_and_other_uids_are_conflicts,
    a_lease_is_not_replaced_blindly,
    leases_and_roles_are_made_by_replacing_nothing,
    operations_that_do_not_fit_change_nothing,
    rules_that_are_broken_are_named,
    bodies_that_contradict_the_path_are_refused,
    some_fields_never_change,
    services_have_an_address_from_their_first_moment,
    some_services_have_no_address,
    a_service_keeps_its_address,
    a_service_gets_and_loses_its_address_with_its_type,
    finalizers_hold_an_object_until_they_are_gone,
    pods_that_may_run_are_given_time,
    a_pod_is_bound_once,
    a_binding_brings_its_labels_and_annotations,
    a_finalizer_is_added_by_operations_unless_others_were_faster,
    a_budget_is_spent_by_evictions,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_the_api_server(world: KubeWorld, scenario: Scenario) -> None:
    run(world, scenario)
