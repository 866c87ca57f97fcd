"""Every key of the slurm chart, and what becomes of it in the custom resources."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.contract.helm import Body, Effect, Helm, at, effects, nested
from windlass.local.errors import CommandFailed

NINE = ["default", "a", "b", "c", "d", "e", "f", "g", "h"]
REF = {"name": "mine", "key": "entry"}
SIDECAR = [{"name": "extra", "image": "extra:1"}]
TOLERATIONS = [{"key": "gpu", "operator": "Exists"}]
MONITOR = "controller.metrics.serviceMonitor"

CONTROLLER: list[Effect] = [
    ("clusterName", "alpha", "spec/clusterName", "alpha"),
    ("imagePullPolicy", "Always", "spec/slurmctld/imagePullPolicy", "Always"),
    ("imagePullSecrets", [{"name": "s"}], "spec/template/spec/imagePullSecrets", [{"name": "s"}]),
    ("jwksKeys", {"enabled": True, "configMapRef": REF}, "spec/jwksKeyRef", REF),
    ("slurmKey", {"create": False, "secretRef": REF}, "spec/slurmKeyRef", REF),
    ("jwtKey", {"create": False, "secretRef": REF}, "spec/jwtKeyRef", REF),
    ("accounting.enabled", True, "spec/accountingRef", {"name": "slurm"}),
    ("configFiles", {"gres.conf": "x"}, "spec/configFileRefs", [{"name": "slurm-config-extra"}]),
    ("prologScripts", {"a": "#!"}, "spec/prologScriptRefs", [{"name": "slurm-prolog"}]),
    ("epilogScripts", {"a": "#!"}, "spec/epilogScriptRefs", [{"name": "slurm-epilog"}]),
    (
        "prologSlurmctldScripts",
        {"a": "#!"},
        "spec/prologSlurmctldScriptRefs",
        [{"name": "slurm-prolog-slurmctld"}],
    ),
    (
        "epilogSlurmctldScripts",
        {"a": "#!"},
        "spec/epilogSlurmctldScriptRefs",
        [{"name": "slurm-epilog-slurmctld"}],
    ),
    ("prologScriptRefs", [{"name": "m"}], "spec/prologScriptRefs", [{"name": "m"}]),
    ("epilogScriptRefs", ["m"], "spec/epilogScriptRefs", [{"name": "m"}]),
    ("prologSlurmctldScriptRefs", ["m"], "spec/prologSlurmctldScriptRefs", [{"name": "m"}]),
    ("epilogSlurmctldScriptRefs", ["m"], "spec/epilogSlurmctldScriptRefs", [{"name": "m"}]),
    ("controller.slurmctld.image", "i:1", "spec/slurmctld/image", "i:1"),
    (
        "controller.slurmctld.image",
        {"repository": "i", "tag": 26.05},
        "spec/slurmctld/image",
        "i:26.05",
    ),
    (
        "controller.slurmctld.image",
        {"repository": "i", "tag": "x", "digest": "sha256:ab"},
        "spec/slurmctld/image",
        "i@sha256:ab",
    ),
    ("controller.slurmctld.args", ["-vvv"], "spec/slurmctld/args", ["-vvv"]),
    ("controller.slurmctld.resources.limits.cpu", 2, "spec/slurmctld/resources/limits/cpu", 2),
    ("controller.slurmctld.workingDir", "/x", "spec/slurmctld/workingDir", "/x"),
    ("controller.inplaceReconfigure", True, "spec/inplaceReconfigure", True),
    ("controller.reconfigure.image", "i:1", "spec/reconfigure/image", "i:1"),
    ("controller.logfile.image", "i:1", "spec/logfile/image", "i:1"),
    ("controller.ha", {"enabled": True, "backups": 2}, "spec/ha", {"enabled": True, "backups": 2}),
    ("controller.persistence.enabled", False, "spec/persistence/enabled", False),
    ("controller.persistence.existingClaim", "c", "spec/persistence/existingClaim", "c"),
    (
        "controller.persistence.storageClassName",
        "fast",
        "spec/persistence/storageClassName",
        "fast",
    ),
    ("controller.persistence.storageClassName", "-", "spec/persistence/storageClassName", ""),
    ("controller.persistence.storageClassName", "", "spec/persistence/storageClassName", ""),
    ("controller.persistence.storageClassName", None, "spec/persistence/storageClassName", None),
    (
        "controller.persistence.accessModes",
        ["ReadWriteMany"],
        "spec/persistence/accessModes",
        ["ReadWriteMany"],
    ),
    (
        "controller.persistence.resources.requests.storage",
        "9Gi",
        "spec/persistence/resources/requests/storage",
        "9Gi",
    ),
    (
        "controller.persistence.retentionPolicy",
        "Delete",
        "spec/persistence/retentionPolicy",
        "Delete",
    ),
    ("controller.metadata.labels", {"a": "b"}, "metadata/labels/a", "b"),
    ("controller.metadata.labels", {"a": "b"}, "spec/template/metadata/labels", {"a": "b"}),
    ("controller.metadata.annotations", {"a": "b"}, "metadata/annotations", {"a": "b"}),
    ("controller.podSpec.tolerations", TOLERATIONS, "spec/template/spec/tolerations", TOLERATIONS),
    ("controller.podSpec.initContainers", SIDECAR, "spec/template/spec/initContainers", SIDECAR),
    ("controller.podSpec.priorityClassName", "p", "spec/template/spec/priorityClassName", "p"),
    ("controller.podSpec.nodeSelector.a", "b", "spec/template/spec/nodeSelector/a", "b"),
    ("controller.service.metadata.labels", {"a": "b"}, "spec/service/metadata/labels/a", "b"),
    ("controller.service.spec.type", "LoadBalancer", "spec/service/spec/type", "LoadBalancer"),
    ("controller.service.port", 1, "spec/service/port", 1),
    ("controller.service.nodePort", 30817, "spec/service/nodePort", 30817),
    ("controller.metrics.enabled", True, "spec/metrics/enabled", True),
    (f"{MONITOR}.enabled", True, "spec/metrics/serviceMonitor/enabled", True),
    (f"{MONITOR}.labels", {"a": "b"}, "spec/metrics/serviceMonitor/labels", {"a": "b"}),
    (f"{MONITOR}.annotations", {"a": "b"}, "spec/metrics/serviceMonitor/annotations", {"a": "b"}),
    (f"{MONITOR}.interval", "7s", "spec/metrics/serviceMonitor/interval", "7s"),
    (f"{MONITOR}.scrapeTimeout", "6s", "spec/metrics/serviceMonitor/scrapeTimeout", "6s"),
    (
        f"{MONITOR}.endpoints",
        [{"path": "/x"}],
        "spec/metrics/serviceMonitor/endpoints/0/path",
        "/x",
    ),
]

REST_API: list[Effect] = [
    ("restapi.replicas", 3, "spec/replicas", 3),
    ("restapi.slurmrestd.image", {"repository": "i", "tag": "2"}, "spec/slurmrestd/image", "i:2"),
    ("restapi.slurmrestd.env", [{"name": "A"}], "spec/slurmrestd/env", [{"name": "A"}]),
    ("restapi.slurmrestd.args", ["-v"], "spec/slurmrestd/args", ["-v"]),
    ("restapi.slurmrestd.resources.limits.cpu", 1, "spec/slurmrestd/resources/limits/cpu", 1),
    ("restapi.metadata.labels", {"a": "b"}, "metadata/labels/a", "b"),
    ("restapi.podSpec.tolerations", TOLERATIONS, "spec/template/spec/tolerations", TOLERATIONS),
    ("restapi.service.spec.type", "NodePort", "spec/service/spec/type", "NodePort"),
    ("restapi.service.port", 80, "spec/service/port", 80),
    ("restapi.tls.secretRef.name", "t", "spec/tls/secretRef/name", "t"),
    ("restapi.agent.enabled", True, "spec/agent/enabled", True),
]

ACCOUNTING: list[Effect] = [
    ("slurmdbd.image", "i:1", "spec/slurmdbd/image", "i:1"),
    ("slurmdbd.args", ["-v"], "spec/slurmdbd/args", ["-v"]),
    ("storageConfig.host", "db", "spec/storageConfig/host", "db"),
    ("storageConfig.port", 3307, "spec/storageConfig/port", 3307),
    ("storageConfig.database", "d", "spec/storageConfig/database", "d"),
    ("storageConfig.username", "u", "spec/storageConfig/username", "u"),
    ("storageConfig.passwordKeyRef", REF, "spec/storageConfig/passwordKeyRef", REF),
    ("storageConfig.tls.caRef", REF, "spec/storageConfig/tls/caRef", REF),
    ("extraConf", "DebugLevel=debug\n", "spec/extraConf", "DebugLevel=debug"),
    ("extraConfMap", {"DebugFlags": ["A", "B"]}, "spec/extraConf", "DebugFlags=A,B"),
    ("metadata.labels", {"a": "b"}, "metadata/labels/a", "b"),
    ("podSpec.tolerations", TOLERATIONS, "spec/template/spec/tolerations", TOLERATIONS),
    ("service.spec.type", "NodePort", "spec/service/spec/type", "NodePort"),
    ("service.nodePort", 30819, "spec/service/nodePort", 30819),
]

LOGIN_SET: list[Effect] = [
    ("replicas", 0, "spec/replicas", 0),
    ("strategy", {"type": "Recreate"}, "spec/strategy", {"type": "Recreate"}),
    ("login.image", "i:1", "spec/login/image", "i:1"),
    ("login.env", [{"name": "A"}], "spec/login/env", [{"name": "A"}]),
    ("login.securityContext.privileged", True, "spec/login/securityContext/privileged", True),
    ("login.resources.limits.cpu", 1, "spec/login/resources/limits/cpu", 1),
    ("login.volumeMounts", [{"name": "h"}], "spec/login/volumeMounts", [{"name": "h"}]),
    ("initconf.image", "i:1", "spec/initconf/image", "i:1"),
    ("rootSshAuthorizedKeys", "ssh-ed25519 A", "spec/rootSshAuthorizedKeys", "ssh-ed25519 A"),
    ("extraSshdConfig", "LogLevel DEBUG3", "spec/extraSshdConfig", "LogLevel DEBUG3"),
    ("metadata.annotations", {"a": "b"}, "spec/template/metadata/annotations/a", "b"),
    ("podSpec.volumes", [{"name": "h"}], "spec/template/spec/volumes", [{"name": "h"}]),
    ("service.spec.type", "ClusterIP", "spec/service/spec/type", "ClusterIP"),
    ("service.port", 2222, "spec/service/port", 2222),
]

SCHEDULED = {"type": "ScheduledUpdate", "scheduledUpdate": {"startTime": "2030-01-01T00:00:00Z"}}
NODE_SET: list[Effect] = [
    ("replicas", 0, "spec/replicas", 0),
    ("scalingMode", "DaemonSet", "spec/scalingMode", "DaemonSet"),
    ("pinToNode", True, "spec/pinToNode", True),
    ("taintKubeNodes", True, "spec/taintKubeNodes", None),
    ("workloadDisruptionProtection", False, "spec/workloadDisruptionProtection", False),
    ("pruneSlurmNodeRecords", "NodeNotFound", "spec/pruneSlurmNodeRecords", "NodeNotFound"),
    ("ordinalPadding", 3, "spec/ordinalPadding", 3),
    ("oversubscribeNode", True, "spec/oversubscribeNode", True),
    ("drain", {"deadline": "12h"}, "spec/drain", {"deadline": "12h"}),
    ("updateStrategy.paused", True, "spec/updateStrategy/paused", True),
    ("slurmd.image", {"repository": "i", "tag": "2"}, "spec/slurmd/image", "i:2"),
    ("slurmd.args", ["-v"], "spec/slurmd/args", ["-v"]),
    ("slurmd.env", [{"name": "A"}], "spec/slurmd/env", [{"name": "A"}]),
    ("slurmd.resources.limits.cpu", 4, "spec/slurmd/resources/limits/cpu", 4),
    ("slurmd.volumeMounts", [{"name": "h"}], "spec/slurmd/volumeMounts", [{"name": "h"}]),
    ("slurmd.securityContext.privileged", False, "spec/slurmd/securityContext/privileged", False),
    ("logfile.image", "i:1", "spec/logfile/image", "i:1"),
    ("extraConf", "Weight=2", "spec/extraConf", "Weight=2"),
    (
        "extraConfMap",
        {"Gres": ["gpu:8"], "Weight": 1000000},
        "spec/extraConf",
        "Gres=gpu:8 Weight=1000000",
    ),
    ("partition", {"enabled": True, "config": "State=UP"}, "spec/partition/config", "State=UP"),
    (
        "partition",
        {"enabled": True, "configMap": {"Default": True, "Hidden": False}},
        "spec/partition",
        {"enabled": True, "config": "Default=YES Hidden=NO"},
    ),
    (
        "ssh",
        {"enabled": True, "extraSshdConfig": "X"},
        "spec/ssh",
        {
            "enabled": True,
            "extraSshdConfig": "X",
            "sssdConfRef": {"name": "slurm-sssd-conf", "key": "sssd.conf"},
        },
    ),
    (
        "updateStrategy.rollingUpdate.maxUnavailable",
        1,
        "spec/updateStrategy/rollingUpdate/maxUnavailable",
        1,
    ),
    ("updateStrategy", SCHEDULED, "spec/updateStrategy/type", "ScheduledUpdate"),
    ("minReadySeconds", 5, "spec/minReadySeconds", 5),
    ("revisionHistoryLimit", 3, "spec/revisionHistoryLimit", 3),
    (
        "volumeClaimTemplates",
        [{"metadata": {"name": "x"}}],
        "spec/volumeClaimTemplates/0/metadata/name",
        "x",
    ),
    (
        "persistentVolumeClaimRetentionPolicy.whenScaled",
        "Delete",
        "spec/persistentVolumeClaimRetentionPolicy/whenScaled",
        "Delete",
    ),
    ("metadata.labels", {"a": "b"}, "spec/template/metadata/labels/a", "b"),
    ("podSpec.nodeSelector.gpu", "yes", "spec/template/spec/nodeSelector/gpu", "yes"),
    ("podSpec.volumes", [{"name": "h"}], "spec/template/spec/volumes", [{"name": "h"}]),
]


@effects(CONTROLLER)
def test_a_key_of_the_cluster_is_in_the_controller(helm: Helm, effect: Effect) -> None:
    key, value, path, expected = effect
    assert at(helm.template("slurm", nested(key, value)).one("Controller"), path) == expected


@effects(REST_API)
def test_a_key_of_slurmrestd_is_in_the_rest_api(helm: Helm, effect: Effect) -> None:
    key, value, path, expected = effect
    assert at(helm.template("slurm", nested(key, value)).one("RestApi"), path) == expected


@effects(ACCOUNTING)
def test_a_key_of_slurmdbd_is_in_the_accounting(helm: Helm, effect: Effect) -> None:
    key, value, path, expected = effect
    values = {"accounting": {"enabled": True, **nested(key, value)}}
    assert at(helm.template("slurm", values).one("Accounting"), path) == expected


@effects(LOGIN_SET)
@pytest.mark.parametrize("place", ["loginsetDefaults", "loginsets.front"])
def test_a_key_of_a_loginset_counts_for_one_and_for_all(
    helm: Helm, place: str, effect: Effect
) -> None:
    key, value, path, expected = effect
    values: Body = {"loginsets": {"front": {}}}
    rendered = helm.template("slurm", merged(values, nested(f"{place}.{key}", value)))
    assert at(rendered.of("LoginSet")["slurm-login-front"], path) == expected


@effects(NODE_SET)
@pytest.mark.parametrize("place", ["nodesetDefaults", "nodesets.gpu"])
def test_a_key_of_a_nodeset_counts_for_one_and_for_all(
    helm: Helm, place: str, effect: Effect
) -> None:
    key, value, path, expected = effect
    values: Body = {"nodesets": {"gpu": {}}}
    rendered = helm.template("slurm", merged(values, nested(f"{place}.{key}", value)))
    assert at(rendered.of("NodeSet")["slurm-worker-gpu"], path) == expected


def merged(one: Body, other: Body) -> Body:
    """Both, where maps meet the other on top."""
    both = dict(one)
    for key, value in other.items():
        mine = both.get(key)
        both[key] = (
            merged(mine, value) if isinstance(mine, dict) and isinstance(value, dict) else value
        )
    return both


# --- Names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "slurm"),
        ({"nameOverride": "hpc"}, "slurm-hpc"),
        ({"fullnameOverride": "hpc"}, "hpc"),
    ],
)
def test_the_resources_are_called_as_slinky_calls_them(helm: Helm, values: Body, name: str) -> None:
    given = {"accounting": {"enabled": True}, "loginsets": {"l": {}}, "nodesets": {"n": {}}}
    found = helm.template("slurm", {**given, **values})
    custom = {
        (o["kind"], o["metadata"]["name"]) for o in found.objects if "slinky" in o["apiVersion"]
    }
    assert custom == {
        ("Controller", name),
        ("RestApi", name),
        ("Accounting", name),
        ("LoginSet", f"{name}-login-l"),
        ("NodeSet", f"{name}-worker-n"),
    }
    assert at(found.one("NodeSet"), "spec/controllerRef/name") == name
    assert at(found.one("NodeSet"), "spec/template/spec/hostname") == "n-"


def test_another_namespace_than_the_release_has_everything(helm: Helm) -> None:
    found = helm.template("slurm", {"namespaceOverride": "there", "accounting": {"enabled": True}})
    assert {o["metadata"]["namespace"] for o in found.objects} == {"there"}


# --- The cluster to begin with ---------------------------------------------------------------


def test_with_no_values_there_is_all_that_a_job_needs(helm: Helm) -> None:
    found = helm.template("slurm")
    assert found.names() == {
        ("Controller", "slurm"),
        ("RestApi", "slurm"),
        ("LoginSet", "slurm-login-slinky"),
        ("NodeSet", "slurm-worker-slinky"),
        ("Secret", "slurm-sssd-conf"),
    }
    partition = "PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED"
    assert at(found.one("Controller"), "spec/extraConf") == partition
    limits = at(found.one("NodeSet"), "spec/slurmd/resources/limits")
    assert limits == {"cpu": 1, "memory": "1Gi"}


@pytest.mark.parametrize(
    ("values", "nodesets", "loginsets"),
    [
        ({"nodesets": {"gpu": {}}}, {"slurm-worker-gpu"}, set()),
        ({"loginsets": {"front": {}}}, set(), {"slurm-login-front"}),
        ({"starter": {"enabled": False}}, set(), set()),
        ({"nodesets": {"gpu": {"enabled": False}}}, set(), set()),
        ({"controller": {"external": True}}, set(), set()),
    ],
)
def test_who_brings_his_own_sets_gets_exactly_those(
    helm: Helm, values: Body, nodesets: set[str], loginsets: set[str]
) -> None:
    found = helm.template("slurm", values)
    assert set(found.of("NodeSet")) == nodesets
    assert set(found.of("LoginSet")) == loginsets
    assert "PartitionName" not in (at(found.one("Controller"), "spec/extraConf") or "")


def test_what_is_begun_with_can_be_larger(helm: Helm) -> None:
    found = helm.template("slurm", nested("starter.nodeset.replicas", 2))
    assert at(found.one("NodeSet"), "spec/replicas") == 2
    assert at(found.one("NodeSet"), "spec/slurmd/resources/limits/cpu") == 1


# --- slurm.conf ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"extraConf": "A=1\nB=2\n", "extraConfMap": {"C": 3}}, "A=1\nB=2"),
        ({"extraConfMap": {"B": ["x", "y"], "A": 1}}, "A=1\nB=x,y"),
        (
            {"extraConfMap": {"A": 1000000, "B": 0.5, "C": True, "D": None, "E": []}},
            "A=1000000\nB=0.5\nC=YES",
        ),
    ],
)
def test_lines_for_slurm_conf_come_as_text_or_as_a_map(helm: Helm, values: Body, text: str) -> None:
    found = helm.template("slurm", {"controller": values, "starter": {"enabled": False}})
    assert at(found.one("Controller"), "spec/extraConf") == text


@pytest.mark.parametrize(
    ("partition", "line"),
    [
        ({}, "PartitionName=p Nodes=ALL"),
        ({"nodesets": ["a", "b"]}, "PartitionName=p Nodes=a,b"),
        ({"config": "State=UP Default=YES"}, "PartitionName=p Nodes=ALL State=UP Default=YES"),
        ({"configMap": {"MaxTime": "1:00"}}, "PartitionName=p Nodes=ALL MaxTime=1:00"),
        ({"configMap": {"AllowQos": ["x", "y"]}}, "PartitionName=p Nodes=ALL AllowQos=x,y"),
    ],
)
def test_a_partition_is_a_line_after_the_others(helm: Helm, partition: Body, line: str) -> None:
    values = {
        "nodesets": {"a": {}, "b": {}},
        "controller": {"extraConf": "MinJobAge=2"},
        "partitions": {"p": {"enabled": True, "nodesets": ["ALL"], **partition}},
    }
    found = at(helm.template("slurm", values).one("Controller"), "spec/extraConf")
    assert found == f"MinJobAge=2\n{line}"


@pytest.mark.parametrize(
    ("nodesets", "message"),
    [
        ([], "partitions.p.nodesets is empty"),
        (["c"], 'no enabled nodeset "c"'),
        (["b"], 'no enabled nodeset "b"'),
    ],
)
def test_a_partition_of_nodesets_that_are_not_there_is_refused(
    helm: Helm, nodesets: list[str], message: str
) -> None:
    values = {
        "nodesets": {"a": {}, "b": {"enabled": False}},
        "partitions": {"p": {"enabled": True, "nodesets": nodesets}},
    }
    with pytest.raises(CommandFailed, match=message):
        helm.template("slurm", values)


def test_files_and_scripts_are_kept_to_the_last_newline(helm: Helm) -> None:
    values = {
        "configFiles": {"gres.conf": "AutoDetect=nvidia\n"},
        "prologScripts": {"00-a.sh": "#!/bin/sh\nexit 0\n"},
        "epilogSlurmctldScripts": {"b": "#!/bin/sh\n"},
    }
    maps = helm.template("slurm", values).of("ConfigMap")
    assert {name: found["data"] for name, found in maps.items()} == {
        "slurm-config-extra": {"gres.conf": "AutoDetect=nvidia\n"},
        "slurm-prolog": {"prolog-00-a.sh": "#!/bin/sh\nexit 0\n"},
        "slurm-epilog-slurmctld": {"epilog-slurmctld-b": "#!/bin/sh\n"},
    }


# --- Keys ------------------------------------------------------------------------------------


def test_keys_that_nobody_names_are_left_to_the_operator(helm: Helm) -> None:
    found = helm.template("slurm", {"accounting": {"enabled": True}})
    for kind in ("Controller", "Accounting"):
        assert not {"slurmKeyRef", "jwtKeyRef", "jwksKeyRef"} & set(found.one(kind)["spec"])
    assert set(found.of("Secret")) == {"slurm-sssd-conf"}


@pytest.mark.parametrize(
    "values",
    [
        {"slurmKey": {"create": False}, "jwtKey": {"create": False}},
        {"controller": {"external": True, "externalConfig": {"host": "h"}}},
        {"accounting": {"enabled": True, "external": True, "externalConfig": {"host": "h"}}},
    ],
)
def test_keys_that_come_from_elsewhere_are_named_and_not_made(helm: Helm, values: Body) -> None:
    found = helm.template("slurm", merged({"accounting": {"enabled": True}}, values))
    for kind in ("Controller", "Accounting"):
        spec = found.one(kind)["spec"]
        assert spec["slurmKeyRef"] == {"name": "slurm-auth-slurm", "key": "slurm.key"}
        assert spec["jwtKeyRef"] == {"name": "slurm-auth-jwt", "key": "jwt.key"}
    assert not {name for name in found.of("Secret") if "auth" in name}


def test_a_key_with_a_name_of_its_own_is_made_as_slinky_makes_it(helm: Helm) -> None:
    key = {"create": True, "secretRef": REF, "annotations": {"a": "b"}}
    found = helm.template("slurm", {"slurmKey": key})
    assert found.one("Controller")["spec"]["slurmKeyRef"] == REF
    secret = found.of("Secret")["mine"]
    assert secret["immutable"] is True
    assert set(secret["data"]) == {"entry"}
    assert secret["metadata"]["annotations"] == {"a": "b", "helm.sh/resource-policy": "keep"}


# --- Outside ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("daemon", "kind", "port"),
    [("controller", "Controller", 6817), ("accounting", "Accounting", 6819)],
)
def test_a_daemon_outside_is_only_an_address(helm: Helm, daemon: str, kind: str, port: int) -> None:
    values = {"accounting": {"enabled": True}}
    outside = {daemon: {"external": True, "externalConfig": {"host": "h.example"}}}
    spec = helm.template("slurm", merged(values, outside)).one(kind)["spec"]
    assert spec["external"] is True
    assert spec["externalConfig"] == {"host": "h.example", "port": port}
    assert not {"slurmctld", "slurmdbd", "storageConfig", "template"} & set(spec)


# --- SSSD, priority, budgets, more objects ---------------------------------------------------


@pytest.mark.parametrize(
    ("values", "made"),
    [
        ({"loginsets": {"l": {}}}, True),
        ({"nodesets": {"n": {"ssh": {"enabled": True}}}}, True),
        ({"nodesets": {"n": {}}}, False),
        ({"loginsets": {"l": {}}, "sssd": {"secretRef": REF}}, False),
        ({"loginsets": {"l": {}}, "sssd": {"conf": ""}}, False),
    ],
)
def test_sssd_conf_is_there_for_those_who_need_it(helm: Helm, values: Body, made: bool) -> None:
    assert ("slurm-sssd-conf" in helm.template("slurm", values).of("Secret")) is made


@pytest.mark.parametrize(
    ("sssd", "ref"),
    [
        ({"secretRef": REF}, REF),
        ({"conf": "[sssd]"}, {"name": "slurm-sssd-conf", "key": "sssd.conf"}),
        ({"conf": None}, None),
    ],
)
def test_login_pods_know_where_sssd_conf_is(helm: Helm, sssd: Body, ref: Body | None) -> None:
    found = helm.template("slurm", {"loginsets": {"l": {}}, "sssd": sssd})
    assert found.one("LoginSet")["spec"].get("sssdConfRef") == ref


def test_one_priority_class_is_for_all_pods(helm: Helm) -> None:
    values = {
        "priorityClass": {"enabled": True, "create": True, "name": "p", "value": 1000000},
        "accounting": {"enabled": True},
        "mariadb": {"enabled": True},
    }
    found = helm.template("slurm", values)
    assert found.one("PriorityClass")["value"] == 1000000
    for kind in ("Controller", "RestApi", "Accounting", "LoginSet", "NodeSet", "StatefulSet"):
        assert at(found.one(kind), "spec/template/spec/priorityClassName") == "p"


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        ({"enabled": True}, {"minAvailable": 1}),
        ({"enabled": True, "minAvailable": "50%"}, {"minAvailable": "50%"}),
        ({"enabled": True, "maxUnavailable": 0}, {"maxUnavailable": 0}),
    ],
)
def test_the_budget_of_slurmrestd_has_one_bound(helm: Helm, budget: Body, expected: Body) -> None:
    spec = helm.template("slurm", nested("restapi.pdb", budget)).one("PodDisruptionBudget")["spec"]
    selector = spec.pop("selector")["matchLabels"]
    assert spec == expected
    assert selector == {
        "app.kubernetes.io/name": "slurmrestd",
        "app.kubernetes.io/instance": "slurm",
    }


def test_more_objects_are_rendered_as_templates(helm: Helm) -> None:
    extra = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "{{ .Release.Name }}-x", "namespace": "n"},
    }
    assert "slurm-x" in helm.template("slurm", {"extraObjects": [extra]}).of("ConfigMap")


def test_empty_examples_in_values_do_not_overrule_the_operator(helm: Helm) -> None:
    """Slinky's values are full of them, and there they mean nothing."""
    empty = {"args": [], "env": [], "resources": {}, "volumeMounts": [], "image": ""}
    podspec: Body = {
        "affinity": {},
        "tolerations": [],
        "volumes": [],
        "initContainers": [],
        "resources": {},
    }
    values = {"nodesets": {"n": {"slurmd": empty, "podSpec": podspec}}}
    spec = helm.template("slurm", values).one("NodeSet")["spec"]
    assert set(spec["slurmd"]) == {"imagePullPolicy"}
    assert set(spec["template"]["spec"]) == {"hostname", "nodeSelector"}


# --- MariaDB ---------------------------------------------------------------------------------


def with_mariadb(**mariadb: Any) -> Body:
    return {"accounting": {"enabled": True}, "mariadb": {"enabled": True, **mariadb}}


def test_accounting_uses_the_mariadb_beside_it_with_a_password_of_the_operator(helm: Helm) -> None:
    found = helm.template("slurm", with_mariadb())
    assert found.one("Accounting")["spec"]["storageConfig"] == {
        "host": "slurm-mariadb",
        "port": 3306,
        "database": "slurm_acct_db",
        "username": "slurm",
    }
    volumes = {v["name"]: v for v in at(found.one("StatefulSet"), "spec/template/spec/volumes")}
    assert volumes["password"]["secret"]["secretName"] == "slurm-accounting-password"


def test_the_password_of_mariadb_can_be_given(helm: Helm) -> None:
    found = helm.template("slurm", with_mariadb(passwordKeyRef=REF))
    assert at(found.one("Accounting"), "spec/storageConfig/passwordKeyRef") == REF
    volumes = {v["name"]: v for v in at(found.one("StatefulSet"), "spec/template/spec/volumes")}
    assert volumes["password"]["secret"] == {
        "secretName": "mine",
        "items": [{"key": "entry", "path": "password"}],
    }


@pytest.mark.parametrize(
    ("value", "line"),
    [("OFF", "x = OFF"), (False, "x = OFF"), (True, "x = ON"), (1000000, "x = 1000000")],
)
def test_settings_of_mariadb_are_lines_and_a_change_restarts_it(
    helm: Helm, value: Any, line: str
) -> None:
    plain, changed = (
        helm.template("slurm", with_mariadb()),
        helm.template("slurm", with_mariadb(settings={"x": value})),
    )
    assert line in changed.one("ConfigMap")["data"]["mariadb.cnf"].splitlines()
    template = "spec/template/metadata/annotations"
    assert at(plain.one("StatefulSet"), template) != at(changed.one("StatefulSet"), template)


@pytest.mark.parametrize(
    ("persistence", "claims"), [({"enabled": True}, ["data"]), ({"enabled": False}, [])]
)
def test_the_data_of_mariadb_are_on_a_volume_unless_told_otherwise(
    helm: Helm, persistence: Body, claims: list[str]
) -> None:
    spec = helm.template("slurm", with_mariadb(persistence=persistence)).one("StatefulSet")["spec"]
    made = [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])]
    assert made == claims
    volumes = {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    assert ("data" in volumes) is not bool(claims)


@pytest.mark.parametrize(
    ("accounting", "message"),
    [
        ({"enabled": False}, "needs accounting.enabled"),
        ({"enabled": True, "external": True}, "outside"),
    ],
)
def test_a_mariadb_that_nobody_would_use_is_refused(
    helm: Helm, accounting: Body, message: str
) -> None:
    with pytest.raises(CommandFailed, match=message):
        helm.template("slurm", {"accounting": accounting, "mariadb": {"enabled": True}})


@effects(
    [
        ("image", {"repository": "i", "tag": "2"}, "containers/0/image", "i:2"),
        ("resources.limits.cpu", 1, "containers/0/resources/limits/cpu", 1),
        ("podSpec.securityContext.fsGroup", 7, "securityContext/fsGroup", 7),
        ("podSpec.terminationGracePeriodSeconds", 0, "terminationGracePeriodSeconds", 0),
        ("podSpec.tolerations", TOLERATIONS, "tolerations", TOLERATIONS),
        ("podSpec.containers", SIDECAR, "containers/1", SIDECAR[0]),
        ("podSpec.volumes", [{"name": "h", "emptyDir": {}}], "volumes/4/name", "h"),
    ]
)
def test_a_key_of_mariadb_is_in_its_pod(helm: Helm, effect: Effect) -> None:
    key, value, path, expected = effect
    found = helm.template("slurm", with_mariadb(**nested(key, value))).one("StatefulSet")
    assert at(found, f"spec/template/spec/{path}") == expected


# --- Vendors ---------------------------------------------------------------------------------


def gpus(count: int) -> Body:
    return {"slurmd": {"resources": {"limits": {"nvidia.com/gpu": count}}}}


def dcgm(**values: Any) -> Body:
    return nested("vendor.nvidia.dcgm", {"enabled": True, **values})


def test_job_mapping_is_mounted_where_gpus_are(helm: Helm) -> None:
    sets = {"nodesets": {"cpu": {}, "gpu": gpus(8)}}
    found = helm.template("slurm", merged(dcgm(jobMappingDir="/jobs"), sets)).of("NodeSet")
    spec = found["slurm-worker-gpu"]["spec"]
    assert spec["slurmd"]["volumeMounts"] == [{"name": "dcgm-job-mapping", "mountPath": "/jobs"}]
    assert at(spec, "template/spec/volumes/0/hostPath/path") == "/jobs"
    assert "volumeMounts" not in found["slurm-worker-cpu"]["spec"]["slurmd"]


def test_job_mapping_scripts_write_and_remove_what_dcgm_exporter_reads(
    helm: Helm, tmp_path: Path
) -> None:
    folder = tmp_path / "jobs"
    found = helm.template("slurm", dcgm(jobMappingDir=str(folder), scriptPriority=50)).of(
        "ConfigMap"
    )
    prolog = found["slurm-prolog"]["data"]["prolog-50-dcgm.sh"]
    epilog = found["slurm-epilog"]["data"]["epilog-50-dcgm.sh"]

    def run(script: str, job: int, gpus: str) -> None:
        file = tmp_path / "script.sh"
        file.write_text(script)
        environment = {"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": str(job), "SLURM_JOB_GPUS": gpus}
        subprocess.run(["sh", file], env=environment, check=True)

    def mapped() -> dict[str, list[str]]:
        return {file.name: file.read_text().split() for file in folder.iterdir()}

    run(prolog, 7, "0,1")
    run(prolog, 17, "1")
    assert mapped() == {"0": ["7"], "1": ["7", "17"]}
    run(epilog, 7, "0,1")
    assert mapped() == {"1": ["17"]}
    run(epilog, 17, "1")
    run(epilog, 18, "")
    assert mapped() == {}


@pytest.mark.parametrize(
    ("machine", "gres", "last"),
    [("a3mega", "gpu:nvidia_h100:8", "eth8"), ("a3ultra", "gpu:nvidia_h200:8", "eth9")],
)
@pytest.mark.parametrize("form", ["list", "map"])
def test_nodesets_on_googles_machines_have_their_networks_and_gpus(
    helm: Helm, machine: str, gres: str, last: str, form: str
) -> None:
    common = {"nodePool": "pool", "networks": NINE}
    given: Any = [{"targetNodeSet": "gpu", **common}]
    if form == "map":
        given = {"enabled": True, "targetNodeSets": ["gpu"], **common}
    values = {
        "vendor": {"google": {machine: given, "tcpxoImage": "tcpxo:1"}},
        "nodesets": {"gpu": {"podSpec": {"volumes": [{"name": "gib", "emptyDir": {}}]}}, "cpu": {}},
    }
    found = helm.template("slurm", values)
    spec = found.of("NodeSet")["slurm-worker-gpu"]["spec"]
    annotations = spec["template"]["metadata"]["annotations"]
    assert f'"{last}", "network": "h"' in annotations["networking.gke.io/interfaces"]
    assert spec["slurmd"]["resources"]["limits"]["nvidia.com/gpu"] == 8
    assert spec["extraConf"] == f"Gres={gres}"
    assert spec["template"]["spec"]["nodeSelector"]["cloud.google.com/gke-nodepool"] == "pool"
    volumes = spec["template"]["spec"]["volumes"]
    assert [v for v in volumes if v["name"] == "gib"] == [{"name": "gib", "emptyDir": {}}]
    containers = [c["name"] for c in spec["template"]["spec"].get("containers", [])]
    assert containers == (["tcpxo-daemon"] if machine == "a3mega" else [])
    assert found.one("ConfigMap")["data"] == {"gres.conf": "AutoDetect=nvidia\n"}
    assert "annotations" not in found.of("NodeSet")["slurm-worker-cpu"]["metadata"]


@pytest.mark.parametrize(
    ("google", "message"),
    [
        (
            {"a3ultra": [{"targetNodeSet": "gpu", "networks": ["a"]}]},
            "exactly 9 networks, and has 1",
        ),
        (
            {"a3mega": [{"targetNodeSet": "gpu", "networks": NINE}]},
            "needs vendor.google.tcpxoImage",
        ),
    ],
)
def test_what_googles_machines_cannot_do_without_is_demanded(
    helm: Helm, google: Body, message: str
) -> None:
    with pytest.raises(CommandFailed, match=message):
        helm.template("slurm", {"vendor": {"google": google}, "nodesets": {"gpu": {}}})
