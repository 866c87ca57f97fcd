"""From the model to the wire: the bodies of the calls that change something. Pure."""

from collections.abc import Mapping
from functools import singledispatch
from typing import Final

from windlass.slurm.errors import Unsupported
from windlass.slurm.model import UNLIMITED, Limit
from windlass.slurm.specs import (
    JobSpec,
    NodesUpdate,
    NodeUpdate,
    PartitionSpec,
    ReservationSpec,
    Submission,
)
from windlass.slurm.versions import SINCE, Feature, Version, has

Json = dict[str, object]


def needs(version: Version, feature: Feature) -> None:
    """Refuse here what slurmrestd would silently ignore or answer with a riddle."""
    if not has(version, feature):
        raise Unsupported(
            f"slurmrestd's API {version.path} cannot {feature.value};"
            f" {SINCE[feature].path} and later can"
        )


def number(value: Limit) -> Json:
    if value == UNLIMITED:
        return {"set": False, "infinite": True, "number": 0}
    return {"set": True, "infinite": False, "number": value}


def _wrapped(value: Limit) -> Json | None:
    return None if value is None else number(value)


def _said(fields: Mapping[str, object]) -> Json:
    """Without what was left open."""
    return {name: value for name, value in fields.items() if value is not None}


@singledispatch
def encoded(body: object, version: Version) -> object:  # noqa: ARG001 - dispatched on the body
    """The JSON of a body; a plain mapping is one already."""
    return body


@encoded.register
def _(body: NodesUpdate, version: Version) -> object:
    return {"name": body.names, **node_update(body.update, version)}


@encoded.register
def _(body: Submission, version: Version) -> object:
    return {"job": encoded(body.job, version)}


@encoded.register
def node_update(body: NodeUpdate, version: Version) -> Json:
    if body.topology is not None:
        needs(version, Feature.SET_TOPOLOGY)
    return _said(
        {
            "state": None if body.state is None else [body.state],
            "reason": body.reason,
            "comment": body.comment,
            "extra": body.extra,
            "features": body.features,
            "features_act": body.active_features,
            "gres": body.gres,
            "weight": _wrapped(body.weight),
            "topology_str": body.topology,
            "resume_after": _wrapped(body.resume_after),
        }
    )


JOB_NAMES: Final = {
    "user": "user_id",
    "group": "group_id",
    "min_cpus": "minimum_cpus",
    "min_nodes": "minimum_nodes",
    "max_nodes": "maximum_nodes",
    "directory": "current_working_directory",
    "begins_at": "begin_time",
}
"""Fields that the wire calls otherwise."""

JOB_NUMBERS: Final = frozenset(
    {"memory_per_node", "memory_per_cpu", "time_limit", "priority", "begins_at"}
)
"""Fields that the wire wraps."""


@encoded.register
def _(body: JobSpec, version: Version) -> object:
    fields: Json = {}
    for name in body.__struct_fields__:
        value = getattr(body, name)
        if name in JOB_NUMBERS:
            value = _wrapped(value)
        fields[JOB_NAMES.get(name, name)] = value
    if fields.pop("external"):
        needs(version, Feature.EXTERNAL_JOBS)
        fields["flags"] = ["EXTERNAL_JOB"]
    return _said(fields)


@encoded.register
def _(body: PartitionSpec, version: Version) -> object:
    needs(version, Feature.WRITE_PARTITIONS)
    parts: dict[str, Json] = {
        "nodes": {"configured": body.nodes},
        "partition": {"state": None if body.state is None else [body.state]},
        "maximums": {"time": _wrapped(body.max_time), "nodes": _wrapped(body.max_nodes)},
        "minimums": {"nodes": body.min_nodes},
        "defaults": {"time": _wrapped(body.default_time)},
        "priority": {"tier": body.tier},
        "accounts": {"allowed": body.allowed_accounts},
        "groups": {"allowed": body.allowed_groups},
        "qos": {"allowed": body.allowed_qos, "assigned": body.qos},
    }
    told = {name: _said(part) for name, part in parts.items()}
    fields = {name: part for name, part in told.items() if part}
    return {"partitions": [_said({"name": body.name, "flags": body.flags, **fields})]}


@encoded.register
def _(body: ReservationSpec, version: Version) -> object:
    needs(version, Feature.WRITE_RESERVATIONS)
    return _said(
        {
            "name": body.name,
            "node_list": body.nodes,
            "node_count": _wrapped(body.node_count),
            "start_time": _wrapped(body.starts_at),
            "end_time": _wrapped(body.ends_at),
            "duration": _wrapped(body.minutes),
            "users": body.users,
            "accounts": body.accounts,
            "groups": body.groups,
            "partition": body.partition,
            "features": body.features,
            "licenses": body.licenses,
            "flags": body.flags,
            "comment": body.comment,
        }
    )
