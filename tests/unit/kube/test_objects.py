"""Objects as an API server writes them, nulls and all."""

import json
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from windlass.kube import wire
from windlass.kube.errors import Status
from windlass.kube.meta import Meta, OwnerReference, PartialObject
from windlass.kube.objects import Lease, LeaseSpec, Pod, Secret, Service, micro_time
from windlass.kube.wire import Added, Bookmark, Deleted, Document, Failure, Modified, Page
from windlass.values.key import Key

META = {"name": "w-0", "namespace": "slurm", "uid": "u", "resourceVersion": "7"}
HUSK = {
    "metadata": {"resourceVersion": "9", "creationTimestamp": None},
    "spec": {"containers": None},
    "status": {},
}
EVENTS = wire.decoder(Added[Pod] | Modified[Pod] | Deleted[Pod] | Bookmark | Failure)


def test_a_pod_is_read_with_the_names_of_the_wire() -> None:
    pod = msgspec.convert(
        {
            "metadata": {
                **META,
                "ownerReferences": [{"kind": "Job"}, {"kind": "NodeSet", "controller": True}],
            },
            "spec": {"nodeName": "n1", "containers": [{"name": "slurmd", "resources": None}]},
            "status": {
                "podIP": "10.0.0.1",
                "containerStatuses": [{"name": "slurmd", "imageID": "i"}],
            },
        },
        Pod,
    )
    assert pod.metadata.key == Key("slurm", "w-0")
    assert pod.metadata.controller == OwnerReference(kind="NodeSet", controller=True)
    assert (pod.spec.node_name, pod.status.pod_ip) == ("n1", "10.0.0.1")
    assert pod.status.container_statuses is not None
    assert pod.status.container_statuses[0].image_id == "i"


@pytest.mark.parametrize(
    ("type_", "object_", "want"),
    [
        ("ADDED", {"metadata": META}, Added),
        ("MODIFIED", {"metadata": META}, Modified),
        ("DELETED", {"metadata": META}, Deleted),
        ("BOOKMARK", HUSK, Bookmark),
        ("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}, Failure),
    ],
)
def test_an_event_is_typed_by_its_type(type_: str, object_: object, want: type) -> None:
    for line in ({"type": type_, "object": object_}, {"object": object_, "type": type_}):
        assert type(EVENTS.decode(json.dumps(line).encode())) is want


def test_an_error_event_holds_a_status() -> None:
    event = EVENTS.decode(b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}')
    assert event == Failure(Status(410, "Expired"))


def test_an_unknown_event_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        EVENTS.decode(b'{"type":"PERHAPS","object":{}}')


def test_secrets_come_as_bytes_and_go_as_base64() -> None:
    secret = msgspec.json.decode(b'{"metadata":{},"data":{"key":"AAEC"}}', type=Secret)
    assert secret.data == {"key": b"\x00\x01\x02"}
    assert json.loads(msgspec.json.encode(secret))["data"] == {"key": "AAEC"}


def test_a_port_is_a_number_or_a_name() -> None:
    ports = b'{"metadata":{},"spec":{"ports":[{"targetPort":"http"},{"targetPort":80}]}}'
    service = msgspec.json.decode(ports, type=Service)
    assert [port.target_port for port in service.spec.ports or ()] == ["http", 80]


def test_what_is_at_its_default_is_not_written() -> None:
    lease = Lease(metadata=Meta(name="a"), spec=LeaseSpec(holder_identity="me"))
    want = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}
    assert json.loads(msgspec.json.encode(lease)) == want


@pytest.mark.parametrize(
    ("moment", "want"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000000Z"),
        (
            datetime(2026, 1, 2, 3, 4, 5, 60, tzinfo=timezone(timedelta(hours=1))),
            "2026-01-02T02:04:05.000060Z",
        ),
    ],
)
def test_a_micro_time_has_all_its_digits(moment: datetime, want: str) -> None:
    assert micro_time(moment) == want


def test_a_document_keeps_the_whole_object_and_shows_its_metadata() -> None:
    page = wire.decoder(Page[Document]).decode(
        json.dumps({"metadata": {"resourceVersion": "9"}, "items": [{"metadata": META, "x": [1]}]})
    )
    document = page.items[0]
    assert document.body["x"] == [1]
    assert document.metadata.key == Key("slurm", "w-0")


def test_metadata_alone_needs_nothing_else() -> None:
    assert msgspec.convert(HUSK, PartialObject).metadata.resource_version == "9"
