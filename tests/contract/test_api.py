"""A real API server takes our kinds, fills in defaults, and refuses with a sentence."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.slurm_kinds import KEY, LEAST, SLINKY, STORAGE, create, manifest
from windlass.api.definitions import GROUP, KINDS
from windlass.kube.crd import Kind, definition, printed
from windlass.local.errors import CommandFailed
from windlass.local.kubectl import Kubectl

NAMES = [kind.kind for kind in KINDS]
# What Slinky's kinds do not have.
OURS = {
    "Controller": {"spec.persistence.retentionPolicy"},
    "Accounting": {"spec.storageConfig.tls"},
    "RestApi": {"spec.agent", "spec.controllerRef.namespace", "spec.tls"},
    "LoginSet": {"spec.controllerRef.namespace"},
    "NodeSet": {"spec.controllerRef.namespace", "spec.drain", "spec.updateStrategy.paused"},
    "Token": {"spec.controllerRef"},
}


@pytest.fixture(scope="module")
def kubectl(slurm_kinds: Kubectl) -> Kubectl:
    slurm_kinds("create", "namespace", "api")
    return slurm_kinds


def refused(kubectl: Kubectl, body: dict[str, Any]) -> str:
    with pytest.raises(CommandFailed) as caught:
        create(kubectl, body)
    return caught.value.output


def patch(kubectl: Kubectl, kind: str, name: str, body: Any, *words: str) -> None:
    kubectl(
        *("patch", kind, name, "-n", "api", "--type=merge", "-p", json.dumps(body)),
        *words,
    )


# --- the definitions -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_the_server_accepts_a_kind_and_changes_nothing_in_it(kubectl: Kubectl, kind: Kind) -> None:
    status = kubectl.get("crd", kind.name)["status"]
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert "NonStructuralSchema" not in conditions

    before = kubectl.get("crd", kind.name)["metadata"]["generation"]
    kubectl("apply", "--server-side", "-f", "-", text=printed(kind))
    assert kubectl.get("crd", kind.name)["metadata"]["generation"] == before


@pytest.mark.parametrize(
    ("kind", "names", "columns"),
    [
        ("Controller", ["slurmctld"], "NAME CLUSTER READY SLURM AGE"),
        ("Accounting", ["slurmdbd"], "NAME READY AGE"),
        ("RestApi", ["slurmrestd"], "NAME READY AGE"),
        ("LoginSet", ["loginsets", "lss", "sackd"], "NAME REPLICAS READY AGE"),
        ("NodeSet", ["nodesets", "nss", "slurmd"], "NAME DESIRED REPLICAS UPDATED READY AGE"),
        ("Token", ["tokens", "jwt"], "NAME USER IAT READY AGE"),
    ],
)
def test_people_find_a_kind_by_its_short_names_and_see_its_columns(
    kubectl: Kubectl, kind: str, names: list[str], columns: str
) -> None:
    create(kubectl, manifest(kind, f"shown-{kind.lower()}", "api"))
    for name in (*names, kind.lower(), f"{kind.lower()}s.{GROUP}"):
        shown = kubectl("get", name, "-n", "api", f"shown-{kind.lower()}")
        assert shown.splitlines()[0].split() == columns.split(), name


def test_the_slurm_states_of_workers_are_shown_to_who_wants_them(kubectl: Kubectl) -> None:
    create(kubectl, manifest("NodeSet", "wide", "api"))
    patch(kubectl, "nodeset", "wide", {"status": {"slurmIdle": 7}}, "--subresource=status")
    head, row = kubectl("get", "nss", "wide", "-n", "api", "-o", "wide").splitlines()
    assert dict(zip(head.split(), row.split(), strict=True))["IDLE"] == "7"
    assert {"ALLOCATED", "DOWN", "DRAIN"} <= set(head.split())


def test_all_kinds_are_found_together(kubectl: Kubectl) -> None:
    listed = kubectl("api-resources", "--categories=slurm", "-o", "name").split()
    assert sorted(listed) == sorted(kind.name for kind in KINDS)


# --- defaults --------------------------------------------------------------------------------

DEFAULTS: dict[str, dict[str, Any]] = {
    "Controller": {
        "external": False,
        "inplaceReconfigure": False,
        "persistence": {"enabled": True, "retentionPolicy": "Retain"},
        "metrics": {"enabled": False, "serviceMonitor": {"enabled": False}},
    },
    "Accounting": {
        "external": False,
        "storageConfig": {**STORAGE, "port": 3306, "database": "slurm_acct_db"},
    },
    "RestApi": {"replicas": 1, "agent": {"enabled": False}},
    "LoginSet": {"replicas": 1},
    "NodeSet": {
        "replicas": 1,
        "scalingMode": "StatefulSet",
        "ssh": {"enabled": False},
        "partition": {"enabled": False},
        "updateStrategy": {
            "type": "RollingUpdate",
            "paused": False,
            "rollingUpdate": {"maxUnavailable": "25%"},
        },
        "drain": {"requeueJobs": False},
        "revisionHistoryLimit": 0,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "minReadySeconds": 0,
        "ordinalPadding": 0,
        "pinToNode": False,
        "workloadDisruptionProtection": True,
        "pruneSlurmNodeRecords": "Never",
        "oversubscribeNode": False,
    },
    "Token": {"lifetime": "15m", "refresh": True},
}


@pytest.mark.parametrize("kind", NAMES)
def test_every_default_is_filled_in(kubectl: Kubectl, kind: str) -> None:
    stored = create(kubectl, manifest(kind, f"plain-{kind.lower()}", "api"))
    assert stored["spec"] == {**LEAST[kind], **DEFAULTS[kind]}


def test_defaults_below_what_is_given_are_filled_in_too(kubectl: Kubectl) -> None:
    spec = {"ha": {}, "updateStrategy": {"scheduledUpdate": {"startTime": "2026-12-24T18:00:00Z"}}}
    controller = create(kubectl, manifest("Controller", "half", "api", ha=spec["ha"]))
    assert controller["spec"]["ha"] == {"enabled": False, "backups": 1}
    workers = manifest("NodeSet", "half", "api", updateStrategy=spec["updateStrategy"])
    strategy = create(kubectl, workers)["spec"]["updateStrategy"]
    assert strategy["scheduledUpdate"]["duration"] == "30m"


# --- rules -----------------------------------------------------------------------------------

ADDRESS = {"host": "slurm.example.com", "port": 6817}
OUTSIDE = {"external": True, "externalConfig": ADDRESS, "slurmKeyRef": KEY, "jwtKeyRef": KEY}
SHARED = {"enabled": True, "existingClaim": "state"}


def without(spec: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name not in names}


@pytest.mark.parametrize(
    ("name", "kind", "spec"),
    [
        ("outside", "Controller", OUTSIDE),
        (
            "outside-old-name",
            "Controller",
            {**without(OUTSIDE, "jwtKeyRef"), "jwtHs256KeyRef": KEY},
        ),
        ("address-unused", "Controller", {"externalConfig": {"host": "", "port": 0}}),
        ("backups", "Controller", {"ha": {"enabled": True}, "persistence": SHARED}),
        ("longest", "Controller", {"clusterName": "c" * 40}),
        (
            "often",
            "Controller",
            {"metrics": {"serviceMonitor": {"interval": "1d", "scrapeTimeout": "90s"}}},
        ),
        ("outside", "Accounting", {"external": True, "externalConfig": ADDRESS}),
        ("ca", "Accounting", {"storageConfig": {**STORAGE, "tls": {"caRef": KEY}}}),
        (
            "scheduled",
            "NodeSet",
            {
                "updateStrategy": {
                    "type": "ScheduledUpdate",
                    "scheduledUpdate": {"startTime": "2026-12-24T18:00:00Z"},
                }
            },
        ),
        ("share", "NodeSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "50%"}}}),
        ("number", "NodeSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}),
        ("old-key", "Token", {"jwtKeyRef": None, "jwtHs256KeyRef": KEY}),
        ("by-controller", "Token", {"jwtKeyRef": None, "controllerRef": {"name": "slurm"}}),
        ("long", "Token", {"lifetime": "1.5h"}),
    ],
)
def test_what_is_good_is_taken(
    kubectl: Kubectl, name: str, kind: str, spec: dict[str, Any]
) -> None:
    create(kubectl, manifest(kind, f"good-{name}", "api", **spec))


@pytest.mark.parametrize(
    ("kind", "spec", "field", "words"),
    [
        (
            "Controller",
            without(OUTSIDE, "externalConfig"),
            "spec.externalConfig",
            "external: true needs externalConfig with the host and port",
        ),
        (
            "Controller",
            {**OUTSIDE, "externalConfig": {"host": "", "port": 6817}},
            "spec.externalConfig",
            "needs externalConfig with the host and port",
        ),
        (
            "Controller",
            {**OUTSIDE, "externalConfig": {"host": "slurm.example.com", "port": 0}},
            "spec.externalConfig",
            "needs externalConfig with the host and port",
        ),
        (
            "Controller",
            {"ha": {"enabled": True}},
            "spec.persistence",
            "ha.enabled needs persistence.existingClaim",
        ),
        (
            "Controller",
            {"ha": {"enabled": True}, "persistence": {**SHARED, "enabled": False}},
            "spec.persistence",
            "ha.enabled needs persistence.existingClaim",
        ),
        ("Controller", {"ha": {"backups": 0}}, "spec.ha.backups", "greater than or equal to 1"),
        ("Controller", {"clusterName": "c" * 41}, "spec.clusterName", "may not be more than 40"),
        ("Controller", {"clusterName": "a\nUser=x"}, "spec.clusterName", "should match"),
        ("Controller", {"slurmKeyRef": {"name": "s"}}, "spec.slurmKeyRef.key", "Required value"),
        (
            "Controller",
            {"metrics": {"serviceMonitor": {"interval": "soon"}}},
            "spec.metrics.serviceMonitor.interval",
            "should match",
        ),
        (
            "Accounting",
            {"external": True},
            "spec.externalConfig",
            "external: true needs externalConfig",
        ),
        ("Accounting", {"storageConfig": None}, "spec.storageConfig", "storageConfig is missing"),
        (
            "Accounting",
            {"storageConfig": {**STORAGE, "tls": {"caRef": KEY, "caSecretRef": KEY}}},
            "spec.storageConfig.tls",
            "either as caRef (a ConfigMap) or as caSecretRef (a Secret)",
        ),
        ("RestApi", {"controllerRef": {}}, "spec.controllerRef.name", "Required value"),
        ("RestApi", {"replicas": -1}, "spec.replicas", "greater than or equal to 0"),
        ("LoginSet", {"controllerRef": None}, "spec.controllerRef", "Required value"),
        ("LoginSet", {"controllerRef": {"name": ""}}, "spec.controllerRef.name", "at least 1"),
        ("NodeSet", {"controllerRef": {"name": ""}}, "spec.controllerRef.name", "at least 1"),
        (
            "NodeSet",
            {"updateStrategy": {"type": "ScheduledUpdate"}},
            "spec.updateStrategy.scheduledUpdate",
            "type ScheduledUpdate needs scheduledUpdate.startTime",
        ),
        ("NodeSet", {"scalingMode": "Job"}, "spec.scalingMode", "Unsupported value"),
        ("NodeSet", {"partition": {"config": "A=1\nB=2"}}, "spec.partition.config", "should match"),
        ("Token", {"jwtKeyRef": None}, "spec", "give jwtKeyRef, the key to sign with"),
        ("Token", {"username": ""}, "spec.username", "at least 1"),
        ("Token", {"lifetime": "-5m"}, "spec.lifetime", "should match"),
    ],
)
def test_what_is_bad_is_refused_with_its_field(
    kubectl: Kubectl, kind: str, spec: dict[str, Any], field: str, words: str
) -> None:
    said = refused(kubectl, manifest(kind, "bad", "api", **spec))
    assert f"{field}:" in said
    assert words in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"clusterName": "other"}, "spec.clusterName: Invalid value"),
        ({"clusterName": None}, "clusterName cannot be changed: Slurm's state and accounting"),
        (OUTSIDE, "external cannot be changed: a running cluster would lose its state"),
    ],
)
def test_what_would_orphan_state_cannot_be_changed(
    kubectl: Kubectl, change: dict[str, Any], words: str
) -> None:
    fixed = manifest("Controller", "fixed", "api", clusterName="first")
    kubectl("apply", "-f", "-", text=json.dumps(fixed))
    with pytest.raises(CommandFailed) as caught:
        patch(kubectl, "slurmctld", "fixed", {"spec": change})
    assert words in caught.value.output


# --- subresources ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["NodeSet", "LoginSet"])
def test_a_set_is_scaled_without_touching_the_rest(kubectl: Kubectl, kind: str) -> None:
    create(kubectl, manifest(kind, "scaled", "api"))
    kubectl("scale", kind, "scaled", "-n", "api", "--replicas=7")
    status = {"status": {"replicas": 5, "selector": "app=x", "nodeSetHash": "h"}}
    patch(kubectl, kind, "scaled", status, "--subresource=status")
    path = f"/apis/{GROUP}/v1beta1/namespaces/api/{kind.lower()}s/scaled/scale"
    scale = json.loads(kubectl("get", f"--raw={path}"))
    assert scale["spec"]["replicas"] == 7
    assert scale["status"] == {"replicas": 5, "selector": "app=x"}


CONDITION = {
    "type": "Ready",
    "status": "False",
    "reason": "Waiting",
    "message": "slurmctld starts",
    "lastTransitionTime": "2026-11-15T12:00:00Z",
    "observedGeneration": 1,
}
STATUS: dict[str, dict[str, Any]] = {
    "Controller": {
        "clusterName": "c",
        "slurmVersion": "26.05.5",
        "address": "a:6817",
        "configHash": "h",
    },
    "Accounting": {"address": "a:6819"},
    "RestApi": {"replicas": 2, "readyReplicas": 1, "address": "a:6820"},
    "LoginSet": {"replicas": 2, "readyReplicas": 1, "selector": "a=b", "address": "a:22"},
    "NodeSet": {
        "replicas": 9,
        "updatedReplicas": 8,
        "readyReplicas": 7,
        "availableReplicas": 6,
        "unavailableReplicas": 5,
        "desired": 10,
        "slurmIdle": 4,
        "slurmAllocated": 3,
        "slurmDown": 2,
        "slurmDrain": 1,
        "nodeSetHash": "h",
        "currentRevision": "w-g",
        "updateRevision": "w-h",
        "selector": "a=b",
        "collisionCount": 1,
        "ordinalToNode": {"0": "node-a"},
    },
    "Token": {
        "issuedAt": "2026-11-15T12:00:00Z",
        "expiresAt": "2026-11-15T12:15:00Z",
        "secretName": "s",
    },
}


@pytest.mark.parametrize("kind", NAMES)
def test_status_is_written_apart_from_spec_and_kept_whole(kubectl: Kubectl, kind: str) -> None:
    name = f"told-{kind.lower()}"
    made = create(kubectl, manifest(kind, name, "api"))
    status = {"observedGeneration": 1, "conditions": [CONDITION], **STATUS[kind]}
    body = {"spec": {"extraConf": "ignored"}, "status": status}
    patch(kubectl, kind, name, body, "--subresource=status")
    stored = kubectl.get(kind, name, "-n", "api")
    assert stored["status"] == status
    assert stored["spec"] == made["spec"]
    assert set(status) == set(root(kind)["properties"]["status"]["properties"])


# --- manifests written for Slinky ------------------------------------------------------------


def root(kind: str) -> dict[str, Any]:
    found = next(one for one in KINDS if one.kind == kind)
    schema: dict[str, Any] = definition(found)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def unused(schema: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    """Fields that a schema has and a manifest has not."""
    for name, field in schema.get("properties", {}).items():
        below = f"{path}.{name}"
        if name not in value:
            yield below
        elif "properties" in field:
            yield from unused(field, value[name], below)
        elif "properties" in field.get("items", {}):
            yield from unused(field["items"], value[name][0], f"{below}[]")


@pytest.mark.parametrize("kind", NAMES)
def test_the_manifest_for_slinky_uses_every_field(kind: str) -> None:
    missing = set(unused(root(kind)["properties"]["spec"], SLINKY[kind]["spec"], "spec"))
    assert missing == OURS[kind]


@pytest.mark.parametrize("kind", NAMES)
def test_a_manifest_for_slinky_applies_unchanged_and_loses_nothing(
    kubectl: Kubectl, kind: str
) -> None:
    kubectl(
        *("apply", "--server-side", "--validate=strict", "-n", "api", "-f", "-"),
        text=json.dumps(SLINKY[kind]),
    )
    stored = kubectl.get(kind, SLINKY[kind]["metadata"]["name"], "-n", "api")["spec"]
    ours = {path.removeprefix("spec.").partition(".")[0] for path in OURS[kind]}
    wanted = SLINKY[kind]["spec"]
    assert without(stored, *ours) == without(wanted, *ours)
    for name in ours & set(wanted):
        assert wanted[name].items() <= stored[name].items()
