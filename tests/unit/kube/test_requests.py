"""Requests are values: what is asked for, without anybody to ask."""

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from windlass.kube import kinds, requests
from windlass.kube.kinds import Kind
from windlass.kube.objects import Pod
from windlass.kube.requests import Deletion, FieldManager, Paging, Request, Selection
from windlass.kube.wire import Anything, Page
from windlass.values.key import Key

W = Key("slurm", "w-0")


def body(request: Request[Any]) -> Any:
    return json.loads(request.body or b"null")


ALL_KINDS = [each for each in vars(kinds).values() if isinstance(each, Kind)]


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.plural)
def test_every_kind_has_a_path(kind: Kind) -> None:
    key = Key("ns" if kind.namespaced else "", "x")
    middle = "/namespaces/ns" if kind.namespaced else ""
    path = requests.get(kind, key, Anything).path
    assert path == f"{kind.root}{middle}/{kind.plural}/x"


@pytest.mark.parametrize(
    ("request_", "want"),
    [
        (requests.get(kinds.POD, W, Pod), "GET /api/v1/namespaces/slurm/pods/w-0"),
        (requests.get(kinds.NODE, Key("", "n1"), Pod), "GET /api/v1/nodes/n1"),
        (
            requests.get(kinds.CLUSTER_ROLE, Key("", "system:node"), Anything),
            "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
        ),
        (requests.list_page(kinds.POD, Pod), "GET /api/v1/pods"),
        (
            requests.list_page(
                kinds.POD, Pod, Selection("slurm", "app=a,b!=c", "spec.nodeName="), Paging(500)
            ),
            "GET /api/v1/namespaces/slurm/pods?labelSelector=app%3Da%2Cb%21%3Dc"
            "&fieldSelector=spec.nodeName%3D&limit=500",
        ),
        (
            requests.list_page(kinds.POD, Pod, paging=Paging(2, "abc", "7", "NotOlderThan")),
            "GET /api/v1/pods?continue=abc&limit=2&resourceVersion=7"
            "&resourceVersionMatch=NotOlderThan",
        ),
        (
            requests.watch(kinds.POD, Pod, Selection(), "41", 300),
            "GET /api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=41"
            "&timeoutSeconds=300",
        ),
        (
            requests.create(kinds.POD, "slurm", {}, Pod),
            "POST /api/v1/namespaces/slurm/pods",
        ),
        (
            requests.replace(kinds.NODE_SET, W, {}, Anything, "status"),
            "PUT /apis/slinky.slurm.net/v1beta1/namespaces/slurm/nodesets/w-0/status",
        ),
        (
            requests.set_scale(kinds.STATEFUL_SET, W, 3),
            "PATCH /apis/apps/v1/namespaces/slurm/statefulsets/w-0/scale",
        ),
        (
            requests.delete_collection(kinds.POD, Selection("slurm", labels="a=b")),
            "DELETE /api/v1/namespaces/slurm/pods?labelSelector=a%3Db",
        ),
        (requests.evict(W), "POST /api/v1/namespaces/slurm/pods/w-0/eviction"),
        (requests.bind(W, "u", "n1"), "POST /api/v1/namespaces/slurm/pods/w-0/binding"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_request_line(request_: Request[Any], want: str) -> None:
    assert f"{request_.method} {request_.target}" == want


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a%2Fb"])
def test_a_name_that_would_reach_something_else_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        requests.delete(kinds.POD, Key("slurm", name))


def test_an_object_of_a_namespace_needs_one() -> None:
    with pytest.raises(ValueError, match="needs a namespace"):
        requests.get(kinds.POD, Key("", "w-0"), Pod)


def test_a_kind_without_namespaces_takes_none() -> None:
    with pytest.raises(ValueError, match="has no namespaces"):
        requests.get(kinds.NODE, Key("slurm", "n1"), Pod)


def test_the_same_call_is_the_same_value() -> None:
    assert requests.list_page(kinds.POD, Pod) == requests.list_page(kinds.POD, Pod)
    assert requests.list_page(kinds.POD, Pod).expects == Page[Pod]


def test_a_deletion_carries_its_conditions() -> None:
    how = Deletion(uid="u", version="7", propagation="Foreground", grace_seconds=0)
    assert body(requests.delete(kinds.POD, W, how)) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "gracePeriodSeconds": 0,
    }


def test_apply_names_the_object_from_its_own_metadata() -> None:
    rendered = {"metadata": {"name": "a", "namespace": "slurm"}, "data": {"k": "v"}}
    request = requests.apply(kinds.CONFIG_MAP, rendered, FieldManager("windlass"), Anything)
    assert request.path == "/api/v1/namespaces/slurm/configmaps/a"
    assert parse_qsl(request.target.partition("?")[2]) == [
        ("fieldManager", "windlass"),
        ("force", "true"),
    ]
    assert request.content_type == "application/apply-patch+yaml"
    assert body(request) == {"apiVersion": "v1", "kind": "ConfigMap", **rendered}


def test_metadata_alone_is_asked_for_in_the_accept_header() -> None:
    slim = Selection(metadata_only=True)
    asked = [
        requests.get_metadata(kinds.POD, W).accept,
        requests.list_page(kinds.POD, Pod, slim).accept,
        requests.watch(kinds.POD, Pod, slim, "1", 300).accept,
    ]
    assert [accept.split(";")[1] for accept in asked] == [
        "as=PartialObjectMetadata",
        "as=PartialObjectMetadataList",
        "as=PartialObjectMetadata",
    ]


def test_an_eviction_carries_the_deletion_as_json_not_as_text() -> None:
    sent = body(requests.evict(W, Deletion(uid="u")))
    assert sent["deleteOptions"]["preconditions"] == {"uid": "u"}


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (requests.get(kinds.POD, W, Pod), "get Pod"),
        (requests.get_metadata(kinds.POD, W), "get Pod"),
        (requests.list_page(kinds.POD, Pod), "list Pod"),
        (requests.watch(kinds.POD, Pod, Selection(), "1", 300), "watch Pod"),
        (requests.create(kinds.POD, "slurm", {}, Pod), "create Pod"),
        (requests.replace(kinds.POD, W, {}, Pod, "status"), "update Pod/status"),
        (requests.merge_patch(kinds.POD, W, {}, Pod), "patch Pod"),
        (requests.json_patch(kinds.POD, W, [], Pod, "status"), "patch Pod/status"),
        (requests.get_scale(kinds.NODE_SET, W), "get NodeSet/scale"),
        (requests.set_scale(kinds.NODE_SET, W, 3), "patch NodeSet/scale"),
        (requests.delete(kinds.POD, W), "delete Pod"),
        (requests.delete_collection(kinds.POD, Selection("slurm")), "deletecollection Pod"),
        (requests.evict(W), "create Pod/eviction"),
        (requests.bind(W, "uid", "node"), "create Pod/binding"),
    ],
)
def test_every_request_says_verb_and_kind_for_those_who_count(
    request_: Request[Any], name: str
) -> None:
    assert " ".join(request_.name) == name
