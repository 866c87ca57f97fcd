"""Every field that we read or write stands in slurmrestd's own schema, in all four versions.

It finds what no call of the other tests happens to carry.
"""

import json
import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin

import msgspec
import pytest

from windlass.slurm import requests, slurmdb
from windlass.slurm.accounting import Account, Association, Qos, User
from windlass.slurm.call import Request
from windlass.slurm.errors import Unsupported
from windlass.slurm.specs import JobSpec, NodeUpdate, PartitionSpec, ReservationSpec
from windlass.slurm.versions import Version, has
from windlass.testing.slurm import RealSlurm

Schema = dict[str, Any]
LATER = {"topology", "flags"}
"""Fields that old versions do not have; they are read as empty there."""
ADMIN = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@pytest.fixture(scope="module", params=list(Version), ids=lambda version: version.name)
def document(request: pytest.FixtureRequest, slurm: RealSlurm) -> tuple[Version, Schema]:
    version: Version = request.param
    plugins = "openapi/slurmctld,openapi/slurmdbd"
    command = ("slurmrestd", "-s", plugins, "-d", version.path, "--generate-openapi-spec")
    return version, json.loads(slurm.inside("env", "SLURM_JWT=daemon", *ADMIN, *command))


def resolved(document: Schema, schema: Schema) -> Schema:
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def content(document: Schema, where: Schema) -> Schema:
    return resolved(document, next(iter(where["content"].values()))["schema"])


def struct_in(kind: Any) -> type[msgspec.Struct] | None:
    """The Struct inside `list[X] | None` and its like."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    if get_origin(kind) in (list, Union, types.UnionType):
        return next((found for each in get_args(kind) if (found := struct_in(each))), None)
    return None


def unknown_fields(
    document: Schema, schema: Schema, kind: type[msgspec.Struct], path: str = ""
) -> Iterator[str]:
    """Fields of a wire Struct that the schema does not have."""
    schema = resolved(document, schema)
    if schema.get("type") == "array":
        schema = resolved(document, schema["items"])
    properties = schema.get("properties", {})
    for field in msgspec.structs.fields(kind):
        name = field.encode_name
        if name not in properties:
            if name not in LATER:
                yield f"{path}.{name}"
        elif inner := struct_in(field.type):
            yield from unknown_fields(document, properties[name], inner, f"{path}.{name}")


READS: list[tuple[Request[Any], str]] = [
    (requests.ping(), "/slurm/V/ping/"),
    (requests.nodes(), "/slurm/V/nodes/"),
    (requests.jobs(), "/slurm/V/jobs/"),
    (requests.partitions(), "/slurm/V/partitions/"),
    (requests.reservations(), "/slurm/V/reservations/"),
    (requests.licenses(), "/slurm/V/licenses/"),
    (requests.shares(), "/slurm/V/shares"),
    (requests.resources(1), "/slurm/V/resources/{job_id}"),
    (slurmdb.ping(), "/slurmdb/V/ping/"),
    (slurmdb.config(), "/slurmdb/V/config"),
    (slurmdb.tres(), "/slurmdb/V/tres/"),
    (slurmdb.accounts(), "/slurmdb/V/accounts/"),
    (slurmdb.account("a"), "/slurmdb/V/account/{account_name}"),
    (slurmdb.users(), "/slurmdb/V/users/"),
    (slurmdb.user("a"), "/slurmdb/V/user/{name}"),
    (slurmdb.associations(), "/slurmdb/V/associations/"),
    (slurmdb.all_qos(), "/slurmdb/V/qos/"),
    (slurmdb.qos("a"), "/slurmdb/V/qos/{qos}"),
    (slurmdb.clusters(), "/slurmdb/V/clusters/"),
    (slurmdb.cluster("a"), "/slurmdb/V/cluster/{cluster_name}"),
    (slurmdb.past_jobs(), "/slurmdb/V/jobs/"),
    (slurmdb.past_job(1), "/slurmdb/V/job/{job_id}"),
]


@pytest.mark.parametrize(("request_", "path"), READS, ids=[path for _, path in READS])
def test_every_field_that_is_read_is_sent(
    document: tuple[Version, Schema], request_: Request[Any], path: str
) -> None:
    version, spec = document
    if request_.feature and not has(version, request_.feature):
        pytest.skip(f"{version.path} cannot {request_.feature.value}")
    call = spec["paths"][path.replace("V", version.path)][request_.method.lower()]
    schema = content(spec, call["responses"]["200"])

    assert list(unknown_fields(spec, schema, request_.answer)) == []


def unknown_keys(document: Schema, schema: Schema, value: Any, path: str = "") -> Iterator[str]:
    """Keys of a body that the schema does not have."""
    schema = resolved(document, schema)
    if isinstance(value, list):
        for item in value:
            yield from unknown_keys(document, schema.get("items", {}), item, path)
    elif isinstance(value, dict):
        properties = schema.get("properties", {})
        for name, inner in value.items():
            if name not in properties:
                yield f"{path}.{name}"
            else:
                yield from unknown_keys(document, properties[name], inner, f"{path}.{name}")


def full(kind: type[Any], **given: object) -> Any:
    """An object with something in every field."""
    samples: dict[object, object] = {str: "x", int: 1, bool: True, float: 1.0}
    made: dict[str, object] = {}
    for field in msgspec.structs.fields(kind):
        options = (field.type, *get_args(field.type))
        sample = next((samples[each] for each in options if each in samples), None)
        made[field.name] = ("x",) if sample is None or "tuple" in str(field.type) else sample
    return kind(**{**made, **given})


ASSOCIATION = full(Association)
WRITES: list[tuple[Request[Any], str]] = [
    (requests.update_node("w", full(NodeUpdate)), "/slurm/V/node/{node_name}"),
    (requests.update_nodes(["w"], full(NodeUpdate)), "/slurm/V/nodes/"),
    (requests.submit(full(JobSpec)), "/slurm/V/job/submit"),
    (requests.update_job(1, full(JobSpec)), "/slurm/V/job/{job_id}"),
    (requests.cancel_jobs([1], "TERM"), "/slurm/V/jobs/"),
    (requests.requeue_jobs([1]), "/slurm/V/jobs/requeue"),
    (requests.create_nodes("NodeName=x"), "/slurm/V/new/node/"),
    (requests.write_partition(full(PartitionSpec)), "/slurm/V/partitions/"),
    (requests.write_reservation(full(ReservationSpec)), "/slurm/V/reservation"),
    (slurmdb.write_accounts([full(Account)]), "/slurmdb/V/accounts/"),
    (
        slurmdb.add_account(full(Account), cluster="x", parent="x"),
        "/slurmdb/V/accounts_association/",
    ),
    (slurmdb.add_user(full(User), "x", cluster="x"), "/slurmdb/V/users_association/"),
    (slurmdb.write_users([full(User)]), "/slurmdb/V/users/"),
    (slurmdb.write_associations([ASSOCIATION]), "/slurmdb/V/associations/"),
    (slurmdb.write_qos([full(Qos)]), "/slurmdb/V/qos/"),
]


@pytest.mark.parametrize(("request_", "path"), WRITES, ids=[path for _, path in WRITES])
def test_every_field_that_is_written_is_known(
    document: tuple[Version, Schema], request_: Request[Any], path: str
) -> None:
    version, spec = document
    try:
        body = json.loads(request_.content(version))
    except Unsupported:
        pytest.skip("this version cannot")
    call = spec["paths"][path.replace("V", version.path)][request_.method.lower()]
    schema = content(spec, call["requestBody"])

    assert list(unknown_keys(spec, schema, body)) == []
